import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { inTransaction, installationSchema } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { jsonDocuments, LogOfTest, pack, type DocumentOfTest } from '../../test/fixture.js';
import { GroupOfTest } from '../../test/group-fixture.js';
import { readModelSchemas } from '../schema.js';
import { cloudEventOf, MOST_ITEMS_INLINE, OUTCOME_TOPICS, type OutcomeEvent, type OutcomeType } from './cloud-event.js';
import { conclusionsOf } from './parts.js';
import { outboxProjection } from './projection.js';
import { outcomesAfter } from './query.js';

let db: TestDatabase;
let log: LogOfTest;

beforeAll(async () => {
  db = await testDatabase([installationSchema, ...readModelSchemas]);
});
afterAll(() => db.drop());
beforeEach(() => {
  log = new LogOfTest();
});

/** The outcomes of the log, each of which must be as it is documented. */
async function outbox(): Promise<OutcomeEvent[]> {
  const projection = outboxProjection({ evidence: log.evidence, documents: jsonDocuments, store: log });
  const wanted = log.events.filter((event) => projection.filter.types?.includes(event.type));
  await emptyTables(db.pool, projection);
  await inTransaction(db.pool, (tx) => projection.project(wanted, tx));
  const rows = await outcomesAfter(db.pool, 0n, 1_000);
  for (const row of rows) {
    expect(cloudEventOf(row.type as OutcomeType).safeParse(JSON.parse(row.body)).error).toBeUndefined();
    expect(OUTCOME_TOPICS[row.type as OutcomeType]).toContain(row.topic);
  }
  return rows.map((row) => JSON.parse(row.body) as OutcomeEvent);
}
const shortOf = (events: OutcomeEvent[]): string[] =>
  events.map(({ type, data }) =>
    [
      type.slice('pedigree.'.length, -'.v1'.length),
      'command_id' in data ? data.command_id : '',
      ...('outcome' in data ? [data.outcome] : []),
    ].join(' '),
  );

/** The documents that were split, as the ERP gave them. */
const originals = (): string[] =>
  log.events.flatMap(({ data }) => {
    const { original } = data as { original?: { documentSha256: string } };
    return original === undefined ? [] : [original.documentSha256];
  });

/** What the upgrade says of these rows. */
async function markedBy(migration: string): Promise<unknown> {
  await db.pool.query(readFileSync(new URL(`./migrations/${migration}`, import.meta.url), 'utf8'));
  const { rows } = await db.pool.query(`SELECT obj_description('outcome_event'::regclass) AS comment`);
  await db.pool.query('COMMENT ON TABLE outcome_event IS NULL');
  return rows[0]?.comment;
}

const one = (n: number, of: Partial<DocumentOfTest> = {}): DocumentOfTest => ({
  docType: 552,
  items: [pack(2 * n), pack(2 * n + 1)],
  ...of,
});

describe('a group that the ERP gave', () => {
  it('is told of when every member has ended, besides each of them', async () => {
    const group = new GroupOfTest(log, [one(0, { reference: 'INV-1' }), one(1)], { reference: 'DAY-1' }).start();
    for (const i of [0, 1]) group.end(i);
    const events = await outbox();
    expect(shortOf(events)).toEqual([
      'document.concluded command-1 accepted',
      'document.concluded command-2 accepted',
      `group.concluded ${group.commandId} accepted`,
    ]);
    const [first, second] = group.members;
    expect(events.at(-1)).toMatchObject({
      subject: group.groupId,
      data: {
        group_id: group.groupId,
        reference: 'DAY-1',
        kind: 'given',
        account: 'main',
        href: `/v1/groups/${group.groupId}`,
        sentence: 'The group has 2 documents; all were accepted.',
        members: [
          { request_id: first?.requestId, reference: 'INV-1', doc_type: 552, outcome: 'accepted' },
          { request_id: second?.requestId, command_id: 'command-2', outcome: 'accepted' },
        ],
      },
    });
    expect(events.at(-1)?.data).not.toHaveProperty('halt');
  });

  it('that halts is told of at once, with what stopped it, and again when the documents after it have ended', async () => {
    const group = new GroupOfTest(log, [
      one(0),
      one(1, { outcome: 'rejected', errors: [{ code: '4', text: 'not the owner', objectId: pack(2) }] }),
      one(2, { outcome: 'failed', cause: 'not_processed' }),
    ]).start();
    for (const i of [0, 1, 2]) group.end(i);
    const events = await outbox();
    expect(shortOf(events)).toEqual([
      ...[
        'document.concluded command-1 accepted',
        'document.concluded command-2 rejected',
        `group.halted ${group.commandId}`,
      ],
      ...['document.concluded command-3 failed', `group.concluded ${group.commandId} partial`],
    ]);
    const stopped = {
      halt: 'member_rejected',
      stopped_by: { command_id: 'command-2', request_id: group.members[1]?.requestId, outcome: 'rejected' },
    };
    const halted = events[2]?.data as { members: object[]; sentence: string };
    expect(halted).toMatchObject({
      ...stopped,
      sentence:
        'The registry stopped at command-2 rejected; the documents after it are not processed and end once that ' +
        'is sure.',
    });
    expect(halted.members.map((member) => 'outcome' in member)).toEqual([true, true, false]);
    expect(events[4]?.data).toMatchObject({
      ...stopped,
      remedy: expect.stringContaining('pedigree resume') as unknown,
      members: [{}, {}, { outcome: 'failed', cause: 'not_processed' }],
    });
  });

  it('that the registry would not begin is told with its words, and a resumption with what it resumes', async () => {
    const resumes = { groupId: '00000000-0000-5000-8000-000000000007', commandId: 'before' };
    const group = new GroupOfTest(log, [one(0)], { kind: 'resumption', resumes }).start();
    const refused = new GroupOfTest(log, [one(1)]);
    refused.do({ type: 'NoteMemberSent', requestId: refused.members[0]?.requestId ?? '', documentId: 'd' });
    for (let check = 0; check < 5; check += 1)
      refused.do({
        type: 'RecordCheck',
        answer: { canStart: false, reason: 'closed today' },
        answerSha256: 'a'.repeat(64),
      });
    group.end(0);
    const events = await outbox();
    expect(events.map(({ data }) => data)).toMatchObject([
      { halt: 'check_denied', text: 'closed today', kind: 'given' },
      { outcome: 'accepted' },
      { kind: 'resumption', resumes: { group_id: resumes.groupId, command_id: 'before' }, outcome: 'accepted' },
    ]);
  });

  it('that is carried on with a corrected member is told under the commands that the ERP gave first', async () => {
    const halted = { groupId: '00000000-0000-5000-8000-000000000007', commandId: 'resume-1' };
    const replaced = ['00000000-0000-5000-8000-000000000001', '00000000-0000-5000-8000-000000000002'] as const;
    const again = {
      supersedes: { commandId: 'corrected-1', requestId: replaced[0] },
      firstCommand: { commandId: 'erp-1', reference: 'INV-1' },
    };
    const kept = { supersedes: { commandId: 'command-2', requestId: replaced[1] } };
    const documents = [
      one(0, { outcome: 'rejected', errors: [{ code: '4', text: 'no', objectId: pack(0) }] }),
      one(1, { outcome: 'failed', cause: 'not_processed' }),
    ];
    const group = new GroupOfTest(log, documents, {
      kind: 'resumption',
      resumes: halted,
      firstCommand: { commandId: 'day-1', reference: 'DAY-1' },
      inPlaceOf: [again, kept],
    }).start();
    for (const i of [0, 1]) group.end(i);
    const [first, halt, second, whole] = (await outbox()).map(({ data }) => data);
    const corrected = {
      command_id: 'erp-1',
      reference: 'INV-1',
      resend_of: replaced[0],
      resend_command_id: 'command-1',
    };
    const same = { command_id: 'command-2', resend_of: replaced[1] };
    expect([first, second]).toMatchObject([corrected, same]);
    const ofGroup = {
      command_id: 'day-1',
      reference: 'DAY-1',
      resend_of: halted.groupId,
      resend_command_id: group.commandId,
      members: [corrected, same],
    };
    expect([halt, whole]).toMatchObject(
      [ofGroup, ofGroup].map((told) => ({ ...told, stopped_by: { command_id: 'erp-1' } })),
    );
    expect(second).not.toHaveProperty('resend_command_id');
  });

  it('of which a member turns out otherwise is told anew where the whole does', async () => {
    const group = new GroupOfTest(log, [one(0), one(1, { outcome: 'failed' })]).start();
    for (const i of [0, 1]) group.end(i);
    group.end(1, { outcome: 'accepted' }, 'failed');
    const events = await outbox();
    expect(shortOf(events).slice(-2)).toEqual([
      'document.revised command-2 accepted',
      `group.revised ${group.commandId} accepted`,
    ]);
    expect(events.at(-1)?.data).toMatchObject({ previous_outcome: 'partial' });
  });

  it('says of a member that was revised no more why it had failed, and older rows that did are marked', async () => {
    const group = new GroupOfTest(log, [one(0), one(1, { outcome: 'failed' })]).start();
    for (const i of [0, 1]) group.end(i);
    group.end(1, { outcome: 'accepted' }, 'failed');
    const ofGroup = (await outbox()).filter(({ type }) => type.startsWith('pedigree.group.'));
    const [concluded, revised] = ofGroup.slice(-2);
    expect(concluded?.data).toMatchObject({ members: [{}, { outcome: 'failed', cause: 'registry_failed' }] });
    expect(revised?.data).toMatchObject({ members: [{}, { outcome: 'accepted' }] });
    expect(JSON.stringify(revised)).not.toContain('"cause"');
    const marked = () => markedBy('0005-outcome-event-older-rows.sql');
    expect(await marked()).toBeNull();
    await db.pool.query(`UPDATE outcome_event SET body = replace(body, '"outcome":"accepted"',
      '"outcome":"accepted","cause":"registry_failed"') WHERE topic = 'group.revised.accepted'`);
    expect(await marked()).toMatch(/^rebuild: /);
  });

  it.each(['given', 'split'] as const)(
    'and was resumed before it was accepted (%s) says that both count, and older rows that did not are marked',
    async (kind) => {
      const group = new GroupOfTest(log, [one(0), one(1, { outcome: 'failed' })], { kind }).start();
      for (const i of [0, 1]) group.end(i);
      group.do({ type: 'NoteResumption', by: { groupId: 'g-2', commandId: 'resume' } });
      group.end(1, { outcome: 'accepted' }, 'failed');
      expect((await outbox()).at(-1)?.data).toMatchObject({
        outcome: 'accepted',
        sentence: expect.stringContaining('all were accepted'),
        remedy: expect.stringMatching(/group g-2 .*both count/),
      });
      const marked = () => markedBy('0006-outcome-event-older-rows.sql');
      expect(await marked()).toBeNull();
      const told = await db.pool.query(
        `UPDATE outcome_event SET body = regexp_replace(body, '"remedy":"[^"]*",', '')
         WHERE topic LIKE '%.revised.accepted'`,
      );
      expect(told.rowCount).toBeGreaterThan(0);
      expect(await marked()).toMatch(/^rebuild: /);
    },
  );
});

describe('one document of the ERP that was split', () => {
  it("is told of once, as one document: by the ERP's own command and reference, with the items of all parts", async () => {
    const errors = [{ code: '4', text: 'not the owner', objectId: pack(3) }];
    const split = new GroupOfTest(log, [one(0), one(1, { outcome: 'partial', errors }), one(2)], {
      kind: 'split',
      reference: 'INV-7',
    }).start();
    for (const i of [0, 1, 2]) split.end(i);
    const events = await outbox();
    expect(shortOf(events)).toEqual([`document.concluded ${split.commandId} partial`]);
    expect(events[0]).toMatchObject({
      subject: split.groupId,
      data: {
        request_id: split.groupId,
        reference: 'INV-7',
        item_count: 6,
        doc_type: 552,
        doc_num: 'N-1',
        duplicate: false,
        href: `/v1/groups/${split.groupId}`,
        items: {
          count: 6,
          accepted: { count: 5 },
          refused: { count: 1, items: [{ id: pack(3), code: '4', text: 'not the owner' }] },
          undetermined: { count: 0 },
          href: `/v1/documents/${split.groupId}/items`,
        },
        parts: split.members.map(({ requestId }, i) => ({
          request_id: requestId,
          outcome: i === 1 ? 'partial' : 'accepted',
        })),
      },
    });
    expect(
      (events[0]?.data as { items: { accepted: { items: object[] } } }).items.accepted.items.map(
        (item) => (item as { id: string }).id,
      ),
    ).toEqual([0, 1, 2, 4, 5].map(pack));
  });

  it(
    'and halts is told of once, when all of it has ended; a part whose like the registry has twice is an alarm of ' +
      'its own',
    async () => {
      const split = new GroupOfTest(
        log,
        [one(0, { outcome: 'failed' }), one(1, { outcome: 'failed', cause: 'not_processed' })],
        { kind: 'split' },
      ).start();
      split.end(0);
      expect(await outbox()).toEqual([]);
      log.add(split.members[1]?.requestId ?? '', {
        type: 'DuplicateDetected',
        data: { documentIds: ['d-1', 'd-2'], answerSha256: 'a'.repeat(64) },
      });
      split.end(1);
      const events = await outbox();
      expect(shortOf(events)).toEqual([
        `document.duplicate ${split.commandId}`,
        `document.concluded ${split.commandId} failed`,
      ]);
      expect(events[1]?.data).toMatchObject({
        cause: 'registry_failed',
        duplicate: true,
        items: { refused: { count: 4 } },
        parts: [{ cause: 'registry_failed' }, { cause: 'not_processed' }],
      });
    },
  );

  it('waits as one document', async () => {
    const split = new GroupOfTest(log, [one(0), one(1)], {
      kind: 'split',
      after: [{ commandId: 'command-9', requestId: '00000000-0000-5000-8000-000000000009' }],
    });
    const events = await outbox();
    expect(shortOf(events)).toEqual([`document.waiting ${split.commandId}`]);
    expect(events[0]?.data).toMatchObject({
      waiting_for: [{ command_id: 'command-9' }],
      sentence: 'Waits until command-9 has concluded.',
    });
  });

  it('is told anew when a part turns out otherwise, and what was told before stays as it was', async () => {
    const split = new GroupOfTest(log, [one(0), one(1, { outcome: 'failed' })], { kind: 'split' }).start();
    for (const i of [0, 1]) split.end(i);
    const before = await outbox();
    split.end(1, { outcome: 'partial', errors: [{ code: '4', text: 'no', objectId: pack(3) }] }, 'failed');
    const events = await outbox();
    expect(events.slice(0, -1)).toEqual(before);
    // The whole counts as partial before and after; of its items one more is accepted.
    expect(shortOf(events)).toEqual([
      `document.concluded ${split.commandId} partial`,
      `document.revised ${split.commandId} partial`,
    ]);
    expect(events.map(({ data }) => (data as { items: { accepted: { count: number } } }).items.accepted.count)).toEqual(
      [2, 3],
    );
  });

  it('has its items counted over all parts where a result has too many, and read part after part', async () => {
    const many = (from: number): DocumentOfTest => ({
      docType: 552,
      items: Array.from({ length: MOST_ITEMS_INLINE - 1 }, (_, n) => pack(from + n)),
    });
    const split = new GroupOfTest(log, [many(0), many(1_000)], { kind: 'split' }).start();
    expect(await conclusionsOf(log, split.groupId)).toBeUndefined();
    for (const i of [0, 1]) split.end(i);
    const [event] = await outbox();
    const { accepted } = (event?.data as { items: { accepted: object } }).items;
    expect(accepted).toEqual({ count: 2 * MOST_ITEMS_INLINE - 2 });
    const told = await conclusionsOf(log, split.groupId);
    expect(String(told?.position)).toBe((event?.data as { known_at: string }).known_at);
    expect(told?.conclusions.map(({ stream }) => stream)).toEqual(
      split.members.map(({ requestId }) => `document-${requestId}`),
    );
  });

  it('is read in a transaction with no more others than fit: its parts lie in other pages', async () => {
    for (const n of [0, 10, 20]) {
      const split = new GroupOfTest(log, [one(n), one(n + 1)], { kind: 'split' }).start();
      for (const i of [0, 1]) split.end(i);
    }
    const ends = log.events.filter(({ type }) => type === 'GroupConcluded');
    const longest = Math.max(...(await log.evidence.lengths(originals())).values());
    const parts = { evidence: log.evidence, documents: jsonDocuments, store: log };
    const projected = (bytes: number) => {
      const projection = outboxProjection({ ...parts, bounds: { bytes, items: 1_000 } });
      return inTransaction(db.pool, (tx) => emptyTables(tx, projection).then(() => projection.project(ends, tx)));
    };
    expect([await projected(1), await projected(2 * longest), await projected(10 * longest)]).toEqual([1, 2, 3]);
  });
});
