import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ANSWERS } from '../../apps/gateway/src/api/answers.js';
import * as doc from '../../apps/sandbox/test/documents.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 180_000;
/** Small documents keep the test short. Above 2,500 bytes a document is announced and uploaded. */
const OVERRIDES = { rules: { unknownGraceMs: 1_500, maxItemsPerDocument: 40, maxDocumentBytes: 2_500 } };
/** A consignment that was shipped to somebody else: to accept a pack of it is rejected. */
const FOREIGN = 900;
const ALL = ['well', 'stops', 'big', 'heavy'];

interface Group {
  group_id: string;
  phase: string;
  outcome?: string;
  halt?: string;
  resumed_by?: string;
  sentence: string;
  remedy?: string;
  members: {
    request_id: string;
    command_id: string;
    outcome?: string;
    cause?: string;
    item_count: number;
    supersedes?: string;
    superseded_by?: string;
  }[];
  timeline: { type: string; data: { seen_by_status?: boolean } }[];
}

let stack: Stack;

const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${stack.gateway.url}${path}`)).json()) as T;
const post = async (path: string, body: object): Promise<{ status: number; body: Record<string, string> }> => {
  const answer = await fetch(`${stack.gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, string> };
};
const groupOf = async (commandId: string): Promise<Group> =>
  (await ask<{ group: Group }>(`/v1/commands/${commandId}`)).group;
const member = (command_id: string, xml: string) => ({ command_id, xml });

async function give(body: object): Promise<void> {
  const { status, body: said } = await post('/v1/commands', body);
  if (status !== 202) throw new Error(JSON.stringify(said));
}

const giveGroup = (command: object, members: object[]): Promise<void> =>
  give({ ...command, type: 'send_group', group: { members } });

async function ended(commandIds: string[]): Promise<void> {
  for (const commandId of commandIds)
    await until(`${commandId} ends`, async () => (await groupOf(commandId)).phase === 'concluded', LIMIT_MS);
}

const { accept, movePlace, pack, packs } = doc;

beforeAll(async () => {
  stack = await startStack({ sandbox: { language: 'en', processingMs: 50 }, overrides: OVERRIDES });
  // One start is lost on its way, and the answer to another on its way back, whichever groups they are of.
  for (const fault of ['drop_connection_before_work', 'drop_connection_after_work']) {
    await stack.control('/faults', { fault, method: 'group_start', times: 1 });
  }
  await give({ command_id: 'after-well', account: 'main', xml: movePlace([pack(2)]), after: ['well'] });
  await give({ command_id: 'after-stops', account: 'main', xml: accept([pack(700)]), after: ['stops'] });
  await give({ command_id: 'after-s-3', account: 'main', xml: accept([pack(701)]), after: ['s-3'] });
  // Each needs what the one before it did: in another order the registry would reject it.
  const [p1, p2] = [pack(1), pack(2)];
  const inOrder = [
    member('w-1', accept([p1, p2])),
    member('w-2', movePlace([p1])),
    member('w-3', movePlace([p1], { subject: doc.PLACES.shop, receiver: doc.PLACES.second })),
  ];
  await giveGroup({ command_id: 'well', account: 'main', reference: 'ERP/W' }, inOrder);
  const stopping = [
    member('s-1', accept([pack(10)])),
    { ...member('s-2', accept([pack(11, FOREIGN)])), reference: 'ERP/S2' },
    member('s-3', movePlace([pack(10)])),
    member('s-4', accept([pack(12)])),
  ];
  await giveGroup({ command_id: 'stops', account: 'north', reference: 'ERP/S' }, stopping);
  await give({ command_id: 'big', account: 'south', reference: 'ERP/B', xml: accept(packs(100, 100)) });
  // Prices make the second too long for a plain send.
  const heavy = packs(300, 30);
  const tooLong = [member('h-1', accept(heavy)), member('h-2', doc.moveOrder(heavy))];
  await giveGroup({ command_id: 'heavy', account: 'retail' }, tooLong);
  await ended(ALL);
  await stack.caughtUp();
}, LIMIT_MS + 30_000);

afterAll(() => stack?.stop());

describe('a group', () => {
  it('is processed in order, and ends as one', async () => {
    expect(await groupOf('well')).toMatchObject({
      outcome: 'accepted',
      members: [{ command_id: 'w-1', outcome: 'accepted' }, { outcome: 'accepted' }, { outcome: 'accepted' }],
    });
    expect(await stack.control(`/truth/packs/${pack(1)}`)).toMatchObject({ place: doc.PLACES.second });
    expect(await ask('/v1/groups?outcome=accepted')).toMatchObject({
      items: expect.arrayContaining([
        expect.objectContaining({
          command_id: 'well',
          reference: 'ERP/W',
          kind: 'given',
          member_count: 3,
          ended_count: 3,
        }),
      ]),
    });
    const { members } = await groupOf('well');
    expect(await ask(`/v1/documents/${members[1]?.request_id}`)).toMatchObject({
      command_id: 'w-2',
      group_index: 1,
      group_size: 3,
      outcome: 'accepted',
    });
  });

  it('is sent member after member, in the order given', async () => {
    const { documents } = await stack.control<{ documents: { request_id: string }[] }>('/truth/documents?limit=1000');
    const sent = documents.map((one) => one.request_id);
    for (const commandId of ALL) {
      const places = (await groupOf(commandId)).members.map((one) => sent.indexOf(one.request_id));
      expect(places).not.toContain(-1);
      expect([...places].sort((a, b) => a - b)).toEqual(places);
    }
  });

  it('is started once each, though one start was lost and the answer to another', async () => {
    const timelines = (await Promise.all(ALL.map(groupOf))).map((one) => one.timeline);
    const all = timelines.flat();
    expect(all.filter((event) => event.type === 'GroupStartUnconfirmed')).toHaveLength(2);
    expect(all.filter((event) => event.type === 'GroupStartAbsenceProven')).toHaveLength(1);
    expect(all.filter((event) => event.type === 'GroupStarted' && event.data.seen_by_status === true)).toHaveLength(1);
    expect((await stack.control<{ groups: unknown[] }>('/truth/groups')).groups).toHaveLength(ALL.length);
  });

  it('releases what waits for it', async () => {
    const released = async () => (await ask<{ document: { phase: string } }>('/v1/commands/after-well')).document;
    await until(
      'it is released',
      async () => !['acknowledged', 'waiting'].includes((await released()).phase),
      LIMIT_MS,
    );
  });
});

describe('a member that is too long for a plain send', () => {
  it('is announced as a member, uploaded, and processed in its turn', async () => {
    const { outcome, members } = await groupOf('heavy');
    expect({ outcome, members: members.map((one) => one.outcome) }).toEqual({
      outcome: 'accepted',
      members: ['accepted', 'accepted'],
    });
    const { timeline } = await ask<{ timeline: { type: string }[] }>(`/v1/documents/${members[1]?.request_id}`);
    expect(timeline.map((event) => event.type)).toContain('UploadOpened');
    const { calls } = await stack.control<{ calls: { account: string; method: string; calls: number }[] }>(
      '/truth/calls',
    );
    const made = (method: string) => calls.find((one) => one.account === 'retail' && one.method === method)?.calls;
    expect([made('send'), made('send_large'), made('send_finished')]).toEqual([1, 1, 1]);
    const { documents } = await stack.control<{ documents: { request_id: string; bulk_processing: boolean }[] }>(
      '/truth/documents?limit=1000',
    );
    for (const { request_id: id } of members)
      expect(documents.find((one) => one.request_id === id)?.bulk_processing).toBe(true);
  });
});

describe('a document above the item limit', () => {
  it('is sent in parts and ends as one', async () => {
    const big = await ask<{ request_id: string; group: Group }>('/v1/commands/big');
    expect(big.group).toMatchObject({
      group_id: big.request_id,
      kind: 'split',
      outcome: 'accepted',
      item_count: 100,
      reference: 'ERP/B',
      sentence: 'The document was sent in 3 parts; all were accepted.',
    });
    expect(big.group.members.map((one) => [one.command_id, one.item_count])).toEqual([
      ['big', 40],
      ['big', 40],
      ['big', 20],
    ]);
    expect(
      (await post('/v1/commands', { command_id: 'other', xml: accept(packs(100, 100)), account: 'nobody' })).body,
    ).toMatchObject({ code: 'unknown_account' });
  });
});

it('the answers about groups are as their description says', async () => {
  const page = ANSWERS.GroupPage.parse(await ask('/v1/groups?limit=2'));
  expect(page.items).toHaveLength(2);
  for (const commandId of ['well', 'stops', 'big']) {
    const answer = ANSWERS.CommandAnswer.parse(await ask(`/v1/commands/${commandId}`));
    expect(ANSWERS.Group.parse(await ask(`/v1/groups/${answer.request_id}`))).toMatchObject({
      command_id: commandId,
      phase: 'concluded',
    });
  }
});

interface Told {
  type: string;
  data: {
    command_id: string;
    reference?: string;
    request_id?: string;
    outcome?: string;
    parts?: object[];
    items?: { count: number; accepted: { items?: object[] }; href: string };
  };
}
const told = async (): Promise<Told[]> => (await ask<{ items: Told[] }>('/v1/outcomes?limit=100')).items;
const of = (all: Told[], ...commandIds: string[]) =>
  all
    .filter((one) => commandIds.includes(one.data.command_id))
    .map((one) =>
      `${one.type.split('.').slice(1, 3).join('.')} ${one.data.command_id} ${one.data.outcome ?? ''}`.trim(),
    );

describe('what the ERP is told', () => {
  it(
    'is one conclusion of a document that was split, by its own command and reference, and one of each group ' +
      "besides its members'",
    async () => {
      await until('the ERP is told', async () => of(await told(), 'well', 'stops', 'big').length >= 4, LIMIT_MS);
      const all = await told();
      expect(of(all, 'big')).toEqual(['document.concluded big accepted']);
      expect(of(all, 'well', 'w-1', 'w-2', 'w-3').sort()).toEqual([
        'document.concluded w-1 accepted',
        'document.concluded w-2 accepted',
        'document.concluded w-3 accepted',
        'group.concluded well accepted',
      ]);
      expect(of(all, 'stops', 's-3')).toEqual([
        'group.halted stops',
        'document.concluded s-3 failed',
        'group.concluded stops partial',
      ]);
      const big = all.find((one) => one.data.command_id === 'big')?.data;
      expect(big).toMatchObject({
        reference: 'ERP/B',
        items: { count: 100, accepted: { count: 100 } },
        parts: [{}, {}, {}],
      });
      const pages: { id: string }[][] = [];
      for (let cursor: string | undefined = ''; cursor !== undefined && pages.length < 5;) {
        const page: { items: { id: string }[]; next_cursor?: string } = await ask(
          `${String(big?.items?.href)}?limit=45${cursor === '' ? '' : `&cursor=${cursor}`}`,
        );
        pages.push(page.items);
        cursor = page.next_cursor;
      }
      expect(pages.map((page) => page.length)).toEqual([45, 45, 10]);
      expect(pages.flat().map(({ id }) => id)).toEqual(packs(100, 100));
    },
  );
});

describe('a group that halts', () => {
  it('stops at the member that fails; the documents after it are not processed, and said so', async () => {
    const group = await groupOf('stops');
    expect(group).toMatchObject({
      outcome: 'partial',
      halt: 'member_rejected',
      members: [
        { outcome: 'accepted' },
        { outcome: 'rejected' },
        { outcome: 'failed', cause: 'not_processed' },
        { cause: 'not_processed' },
      ],
    });
    expect(group.sentence).toBe(
      'The group has 4 documents. The registry stopped at s-2 rejected; the documents after it were not processed.',
    );
    expect(group.remedy).toContain(`pedigree resume ${group.group_id}`);
    const behind = (await ask<{ document: { sentence: string; cause: string } }>('/v1/commands/s-3')).document;
    expect(behind).toMatchObject({
      cause: 'not_processed',
      sentence: 'Not processed: the registry stopped its group at an earlier document: s-2 rejected.',
    });
  });

  it('holds what comes after it, for a person to decide', async () => {
    for (const id of ['stops', 's-3']) {
      const after = async () =>
        (await ask<{ document: { phase: string; holds: object[] } }>(`/v1/commands/after-${id}`)).document;
      // It is told after the end of what it comes after.
      await until(`after-${id} is held`, async () => (await after()).phase === 'held', LIMIT_MS);
      expect(await after()).toMatchObject({
        holds: [{ kind: 'after', for: [{ command_id: id, outcome: 'failed' }], waivable_by: 'operator' }],
      });
    }
  });

  it(
    'is resumed once, with a corrected member and the rest in its order, to its end',
    async () => {
      const { group_id: groupId } = await groupOf('stops');
      const corrected = member('s-2-corrected', accept([pack(11)]));
      expect((await post(`/v1/groups/${groupId}/resumptions`, { reason: 'the wrong consignment' })).body).toMatchObject(
        { code: 'invalid_command', field: '/corrected' },
      );
      const resumeBy = (account: string) =>
        post(`/v1/groups/${groupId}/resumptions`, { account, corrected, reason: 'the wrong consignment' });
      expect((await resumeBy('nobody')).body).toMatchObject({ code: 'unknown_account', field: '/account' });
      // Its own account may be gone by now.
      const taken = await resumeBy('south');
      expect(taken.status).toBe(202);
      expect((await resumeBy('south')).status).toBe(200);
      const twice = await post('/v1/commands', {
        command_id: 'again',
        type: 'resume_group',
        resume: { group: 'stops', corrected: member('s-2-other', accept([pack(13)])) },
      });
      expect([twice.status, twice.body['code']]).toEqual([409, 'group_not_resumable']);
      await ended([`resume-${groupId}`]);
      const resumed = await groupOf(`resume-${groupId}`);
      expect(resumed).toMatchObject({
        kind: 'resumption',
        account: 'south',
        outcome: 'accepted',
        resumes: groupId,
        members: [{ command_id: 's-2-corrected' }, { command_id: 's-3' }, { command_id: 's-4' }],
      });
      const old = await groupOf('stops');
      expect(old.resumed_by).toBe(resumed.group_id);
      expect(old.members.slice(1).map((one) => one.superseded_by)).toEqual(
        resumed.members.map((one) => one.request_id),
      );
      expect(
        (await post('/v1/commands', { command_id: 'w', type: 'resume_group', resume: { group: 'well' } })).body,
      ).toMatchObject({ code: 'group_not_resumable' });
    },
    LIMIT_MS,
  );

  it(
    'is told of after its resumption under what the ERP gave first, in the feed as on the bus',
    async () => {
      const [old, resumed] = [await groupOf('stops'), await groupOf(`resume-${(await groupOf('stops')).group_id}`)];
      const fed = async () =>
        (await ask<{ items: { id: string; subject: string; data: object }[] }>('/v1/outcomes?limit=100')).items;
      await until(
        'the ERP is told',
        async () => (await fed()).some((one) => one.subject === resumed.group_id),
        LIMIT_MS,
      );
      const again = new Set([resumed.group_id, ...resumed.members.map((one) => one.request_id)]);
      const told = (await fed()).filter((one) => again.has(one.subject));
      const [, s2, s3, s4] = old.members.map((one) => one.request_id);
      const ofMembers = [
        { command_id: 's-2', reference: 'ERP/S2', resend_of: s2, resend_command_id: 's-2-corrected' },
        { command_id: 's-3', resend_of: s3 },
        { command_id: 's-4', resend_of: s4 },
      ];
      const ofGroup = {
        command_id: 'stops',
        reference: 'ERP/S',
        resend_of: old.group_id,
        resend_command_id: `resume-${old.group_id}`,
        members: ofMembers,
      };
      // Members are polled each by itself: whose end is seen first is chance.
      const data = told.map((one) => one.data as { command_id: string });
      const members = data.slice(0, -1).sort((a, b) => a.command_id.localeCompare(b.command_id));
      expect([...members, data.at(-1)]).toMatchObject([...ofMembers, ofGroup]);
      const published = async () =>
        (
          await stack.db.pool.query<{ body: Buffer }>(
            'SELECT body FROM bus_outcome WHERE id = ANY($1) ORDER BY position',
            [told.map(({ id }) => id)],
          )
        ).rows;
      await until('the bus has it', async () => (await published()).length === told.length, LIMIT_MS);
      expect((await published()).map(({ body }) => JSON.parse(body.toString()) as object)).toEqual(told);
    },
    LIMIT_MS,
  );

  it('holds nothing any more when its resumption was accepted', async () => {
    const ofDocument = async (id: string) =>
      (await ask<{ document: { phase: string; outcome?: string } }>(`/v1/commands/${id}`)).document;
    for (const id of ['after-stops', 'after-s-3']) {
      await until(`${id} ends`, async () => (await ofDocument(id)).phase === 'concluded', LIMIT_MS);
      expect(await ofDocument(id)).toMatchObject({ outcome: 'accepted' });
    }
  });
});

it('no rule of the interface was broken on the way', async () => {
  expect(await stack.control('/violations')).toMatchObject({ violations: [], count: 0 });
});
