import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { builtInSchemas } from '#documents';
import { PostgresEvidenceStore } from '#evidence';
import { canonicalJson, sha256Hex } from '#kernel';
import { installationId } from '#postgres';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { arrival, SGTIN, TestHarness } from '../../test/test-harness.js';
import type { CommandBody } from './command-body.js';
import { Intake, type Acknowledgement, type IntakeOptions } from './intake.js';

const ACTOR = { kind: 'person', name: 'test', authenticatedBy: 'test' } as const;
const NUL = String.fromCharCode(0);
const document = (over: object = {}) => ({
  action_id: 701,
  subject_id: '00000000100101',
  counterparty_id: '00000000200101',
  operation_date: '2026-01-15T09:00:00+03:00',
  order_details: { sgtin: [SGTIN] },
  ...over,
});

let harness: TestHarness;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
});
afterAll(() => harness.stop());

/** These trials give single documents alone. */
const NO_GROUPS = {
  maxItems: () => 25_000,
  schemas: builtInSchemas(),
  groupState: () => Promise.resolve({ phase: 'absent' } as const),
  tellAgain: () => Promise.resolve(),
  endOf: () => Promise.resolve({ outcome: 'failed', mayTurn: false } as const),
};

describe('texts that cannot be stored, and names that are read in two ways', () => {
  const good = { command_id: 'x', xml: arrival() };
  const cases: [string, object | string, string, string][] = [
    ['NUL in the command id', { ...good, command_id: `x${NUL}` }, 'invalid_json', '/command_id'],
    [
      'half of a surrogate pair in the command id',
      { ...good, command_id: 'x\ud800' },
      'invalid_command',
      '/command_id',
    ],
    ['a line end in the command id', { ...good, command_id: 'x\ny' }, 'invalid_command', '/command_id'],
    ['blanks around the command id', { ...good, command_id: ' x' }, 'invalid_command', '/command_id'],
    ['NUL in the reference', { ...good, reference: `ERP${NUL}1` }, 'invalid_json', '/reference'],
    ['half of a surrogate pair in the reference', { ...good, reference: '\udc00' }, 'invalid_command', '/reference'],
    ['NUL in the account', { ...good, account: NUL }, 'invalid_json', '/account'],
    ['NUL in an id of after', { ...good, after: ['a', NUL] }, 'invalid_json', '/after/1'],
    ['blanks around an id of after', { ...good, after: ['a '] }, 'invalid_command', '/after/0'],
    ['half of a surrogate pair in the XML', { command_id: 'x', xml: arrival('\ud800') }, 'invalid_command', '/xml'],
    ['NUL in the XML', { command_id: 'x', xml: arrival(NUL) }, 'invalid_json', '/xml'],
    [
      'NUL in the document',
      { command_id: 'x', document: document({ subject_id: NUL }) },
      'invalid_json',
      '/document/subject_id',
    ],
    [
      'half of a surrogate pair in a name of the document',
      { command_id: 'x', document: document({ 'a\ud800': 1 }) },
      'invalid_command',
      '/document/a\ud800',
    ],
    [
      'a number that would be read as infinite',
      '{"command_id":"x","document":{"action_id":701,"cost":[1,-1e400]}}',
      'invalid_json',
      '/document/cost/1',
    ],
    ['the same name twice', '{"command_id":"x","command_id":"y","xml":"<a/>"}', 'invalid_json', '/command_id'],
    [
      'the same name twice in the document',
      '{"command_id":"x","document":{"action_id":701,"action_id":415}}',
      'invalid_json',
      '/document/action_id',
    ],
    ['__proto__', '{"command_id":"x","__proto__":{},"xml":"<a/>"}', 'invalid_json', '/__proto__'],
    [
      '__proto__ in the document',
      '{"command_id":"x","document":{"__proto__":{},"action_id":701}}',
      'invalid_json',
      '/document/__proto__',
    ],
  ];
  it.each(cases)('%s', async (_, body, code, field) => {
    const before = await harness.registered();
    const answer = await harness.post(body);
    // JSON turns the half pair of the pointer into an escape and back.
    expect(answer.json()).toMatchObject({ code, field });
    expect(answer.status).toBeLessThan(500);
    expect(await harness.registered()).toBe(before);
  });
});

describe('where an error lies', () => {
  const cases: [string, object, number, object][] = [
    [
      'an unknown field of a command',
      { command_id: 'x', xml: arrival(), prio: 1 },
      400,
      { code: 'invalid_command', field: '/prio' },
    ],
    ['a command that is no object', [1], 400, { code: 'invalid_command', field: '' }],
    [
      'an unknown field of a document',
      { command_id: 'x', document: document({ nonsense: 1 }) },
      400,
      { code: 'invalid_command', field: '/document/nonsense' },
    ],
    [
      'an SGTIN of the wrong shape',
      { command_id: 'x', document: document({ order_details: { sgtin: [SGTIN, '0460'] } }) },
      422,
      { code: 'invalid_identifier', field: '/document/order_details/sgtin/1', item: '0460' },
    ],
    [
      'an unknown type of a document',
      { command_id: 'x', document: document({ action_id: 799 }) },
      422,
      { code: 'unknown_document_type', field: '/document/action_id' },
    ],
    [
      'a date of the year 1 in XML',
      { command_id: 'x', xml: arrival(undefined, '0001-01-01T00:00:00+03:00') },
      422,
      { code: 'schema_violation', field: '/xml', line: 1 },
    ],
    [
      'malformed XML',
      { command_id: 'x', xml: '<documents version="1.38">\n<' },
      422,
      { code: 'malformed_xml', field: '/xml', line: 2 },
    ],
  ];
  it.each(cases)('%s', async (_, body, status, place) => {
    const answer = await harness.post(body);
    expect([answer.status, answer.json()]).toEqual([status, expect.objectContaining(place)]);
    const { detail, field } = answer.json<{ detail: string; field: string }>();
    if (field.startsWith('/document')) expect(detail.startsWith(`${field}: `)).toBe(true);
  });

  it.each([
    ['a missing field', document({ counterparty_id: undefined })],
    ['a date of the year 1', document({ operation_date: '0001-01-01T00:00:00+03:00' })],
  ])('%s of a JSON document: the element, and no line of an XML that nobody has seen', async (_, content) => {
    const problem = (await harness.post({ command_id: 'x', document: content })).json();
    expect(problem).toMatchObject({ status: 422, field: '/document', element: expect.any(String) as unknown });
    expect(problem).not.toHaveProperty('line');
    expect(problem['detail']).toMatch(/^\/document: /);
    expect(problem['detail']).not.toMatch(/line \d/);
  });
});

describe('items that were scanned', () => {
  const SCAN = `]d201${SGTIN.slice(0, 14)}21${SGTIN.slice(14)}\u001d91EE06\u001d92AA=`;
  const WRONG = `04600000000016${SGTIN.slice(14)}`;
  const scanned = { command_id: 'scanned', document: document({ order_details: { sgtin: [SCAN] } }) };
  const warnings = [
    {
      code: 'elements_cut',
      sentence: expect.stringContaining('cut off') as unknown,
      count: 1,
      places: [{ field: '/document/order_details/sgtin/0', item: SGTIN }],
    },
  ];
  const rowOf = async (id: string) =>
    (
      await harness.db.pool.query<{ body: string; document: string }>(
        `SELECT encode(body_sha256, 'hex') AS body, encode(document_sha256, 'hex') AS document
         FROM command WHERE command_id = $1`,
        [id],
      )
    ).rows[0];

  it('make the same document as plain ones, and the answer says what was mended, every time', async () => {
    const taken = await harness.post(scanned);
    expect([taken.status, taken.json()]).toEqual([202, expect.objectContaining({ repeated: false, warnings })]);
    const again = await harness.post(scanned);
    expect([again.status, again.json()]).toEqual([200, expect.objectContaining({ repeated: true, warnings })]);
    const plain = await harness.post({ command_id: 'plain', document: document() });
    expect(plain.json()).not.toHaveProperty('warnings');
    expect((await rowOf('scanned'))?.document).toBe((await rowOf('plain'))?.document);
  });

  it('count as they were written: the command is known by its text, and another writing is another content', async () => {
    const body = { ...scanned, type: 'send_document', after: [] };
    expect((await rowOf('scanned'))?.body).toBe(sha256Hex(canonicalJson(body)));
    expect((await harness.post({ ...scanned, document: document() })).json()).toMatchObject({
      code: 'command_conflict',
    });
  });

  it('are warned of with the outcome too, for a message of the bus has no answer', async () => {
    const answer = { kind: 'refused', code: '400', text: 'no', answerSha256: 'a'.repeat(64) } as const;
    const requestId = await harness.run('scanned', [
      { type: 'BeginSend' },
      { type: 'RecordSendAnswer', attempt: 1, answer },
    ]);
    const { items } = (await harness.ask('/v1/outcomes')).json<{ items: { subject: string; data: object }[] }>();
    expect(items.filter(({ subject }) => subject === requestId)).toEqual([
      expect.objectContaining({ data: expect.objectContaining({ command_id: 'scanned', warnings }) as unknown }),
    ]);
  });

  it('are warned of line by line, in XML too, and in each member of a group', async () => {
    const xml = arrival(`<sgtin>${WRONG}</sgtin>`);
    const wrong = (field: string) => [
      {
        code: 'wrong_check_digit',
        sentence: expect.any(String) as unknown,
        count: 1,
        places: [{ field, item: WRONG }],
      },
    ];
    expect(
      await harness.postLines([
        { command_id: 'line', xml },
        { ...scanned, command_id: 'line-2' },
      ]),
    ).toEqual([
      expect.objectContaining({ command_id: 'line', warnings: wrong('/xml') }),
      expect.objectContaining({ command_id: 'line-2', warnings }),
    ]);
    const members = [
      { command_id: 'scans-1', document: document() },
      { command_id: 'scans-2', document: document({ order_details: { sgtin: [WRONG] } }) },
    ];
    const group = await harness.post({ command_id: 'scans', type: 'send_group', group: { members } });
    expect(group.json()).toMatchObject({ warnings: wrong('/group/members/1/document/order_details/sgtin/0') });
  });
});

describe('a command that was acknowledged, and is given again', () => {
  const queue = { readyCount: () => Promise.resolve(0), schedule: () => Promise.resolve() } as never;
  const intakeWith = async (over: Partial<IntakeOptions>): Promise<Intake> => {
    const { pool } = harness.db;
    const usual = {
      pool,
      evidence: new PostgresEvidenceStore({ pool }),
      queue,
      maxDocumentBytes: 1e6,
      maxBacklog: 1e6,
    };
    return new Intake({
      ...usual,
      installationId: await installationId(pool),
      accounts: ['main'],
      ...NO_GROUPS,
      ...over,
    });
  };
  const repeated = { repeated: true };

  it.each([
    ['a document', { type: 'send_document', xml: arrival() }],
    ['a group', { type: 'send_group', group: { members: [{ command_id: 'kept-member', xml: arrival() }] } }],
  ])('is %s that is known, though its account is no longer there', async (what, content) => {
    const body = { command_id: `kept ${what}`, account: 'old', after: [], ...content } as unknown as CommandBody;
    const before = await intakeWith({ accounts: ['main', 'old'] });
    const { requestId, kind } = await before.take(body, ACTOR);
    const after = await intakeWith({});
    expect(await after.take(body, ACTOR)).toMatchObject({ ...repeated, requestId, kind });
    const other = { ...body, reference: 'another' };
    await expect(after.take(other, ACTOR)).rejects.toMatchObject({ code: 'unknown_account' });
    await expect(after.take({ ...body, command_id: 'new' }, ACTOR)).rejects.toMatchObject({ code: 'unknown_account' });
  });

  it('is a resumption that is known, though the account of its group is no longer there', async () => {
    const evidence = new PostgresEvidenceStore({ pool: harness.db.pool });
    const documentSha256 = await evidence.put(Buffer.from(arrival()), 'application/xml');
    const member = { commandId: 'halted-1', requestId: randomUUID(), documentSha256, account: 'old' };
    const halted = {
      phase: 'concluded',
      registration: { groupId: randomUUID(), commandId: 'halted', account: 'old', members: [member] },
      members: [{ outcome: 'failed', cause: 'not_processed' }],
      halt: { cause: 'start_refused' },
    };
    const groupState = () => Promise.resolve(halted as never);
    const body = { command_id: 'resumed', type: 'resume_group', after: [], resume: { group: 'halted' } } as CommandBody;
    const { requestId } = await (await intakeWith({ accounts: ['old'], groupState })).take(body, ACTOR);
    const later = await intakeWith({ groupState });
    expect(await later.take(body, ACTOR)).toMatchObject({ ...repeated, requestId, kind: 'group' });
  });
});

describe('commands in one batch', () => {
  it('do not fail for each other’s faults', async () => {
    const { pool } = harness.db;
    const queue = new PostgresTaskQueue({ pool });
    try {
      const options = {
        pool,
        evidence: new PostgresEvidenceStore({ pool }),
        queue,
        installationId: await installationId(pool),
        accounts: ['main'],
        maxDocumentBytes: 1e6,
        maxBacklog: 1e6,
        ...NO_GROUPS,
      };
      const intake = new Intake(options);
      // Past the check of its shape, as a fault that nobody thought of: PostgreSQL refuses the whole statement for it.
      const ids = ['batch-1', `batch-${NUL}`, 'batch-2', 'batch-3'];
      const taken = await Promise.allSettled(
        ids.map((command_id) => intake.take({ command_id, type: 'send_document', after: [], xml: arrival() }, ACTOR)),
      );
      expect(taken.map((one) => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
      const { rows } = await pool.query(
        `SELECT command_id FROM command JOIN task ON key = 'run_command:' || request_id WHERE command_id LIKE ` +
          `'batch-%' ORDER BY 1`,
      );
      expect(rows.map((row) => row.command_id)).toEqual(['batch-1', 'batch-2', 'batch-3']);
    } finally {
      await queue.close();
    }
  });

  it('fail together, and once, when the fault is nobody’s', async () => {
    const { pool } = harness.db;
    let tries = 0;
    const queue = {
      readyCount: () => Promise.resolve(0),
      schedule: () => {
        tries += 1;
        return Promise.reject(Object.assign(new Error('gone'), { code: '57P01' }));
      },
    };
    const options = {
      pool,
      evidence: new PostgresEvidenceStore({ pool }),
      queue,
      installationId: await installationId(pool),
      accounts: ['main'],
      maxDocumentBytes: 1e6,
      maxBacklog: 1e6,
      ...NO_GROUPS,
    };
    const intake = new Intake(options);
    const take = (command_id: string): Promise<Acknowledgement> =>
      intake.take({ command_id, type: 'send_document', after: [], xml: arrival() }, ACTOR);
    const taken = await Promise.allSettled(['gone-1', 'gone-2', 'gone-3'].map(take));
    expect(taken.map((one) => one.status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(tries).toBeLessThan(3);
  });
});

describe('commands that wait for each other', () => {
  it('are refused when the last of them comes, also in one upload', async () => {
    const command = (command_id: string, ...after: string[]) => ({ command_id, xml: arrival(), after });
    expect((await harness.post(command('A', 'C'))).status).toBe(202);
    expect((await harness.post(command('B', 'A'))).status).toBe(202);
    const refused = await harness.post(command('C', 'B'));
    expect([refused.status, refused.json()]).toEqual([
      400,
      expect.objectContaining({
        code: 'invalid_command',
        field: '/after',
        detail: '/after: the command would wait for itself: C after B after A after C',
      }),
    ]);
    // Corrected, it is taken, and so is what comes after it; the commands as they were are still repeats.
    expect((await harness.post(command('C'))).status).toBe(202);
    expect((await harness.post(command('D', 'B', 'C'))).status).toBe(202);
    expect((await harness.post(command('A', 'C'))).status).toBe(200);
    const results = await harness.postLines([command('E', 'F'), command('F', 'E')]);
    expect(results.map((one) => (one['error'] as { code: string } | undefined)?.code).sort()).toEqual([
      'invalid_command',
      undefined,
    ]);
  });
});

describe('a group', () => {
  const member = (command_id: string, xml = arrival()) => ({ command_id, xml });
  const group = (command_id: string, members: object[], more: object = {}) => ({
    command_id,
    type: 'send_group',
    group: { members },
    ...more,
  });

  it.each([
    [
      'whose member’s id was used before',
      group('g', [member('m-1'), member('used')]),
      409,
      { field: '/group/members/1/command_id', item: 'used' },
    ],
    [
      'in which an id stands twice',
      group('g', [member('m-1'), member('m-1')]),
      400,
      { code: 'invalid_command', field: '/group/members', item: 'm-1' },
    ],
    [
      'whose member has its own id',
      group('g', [member('g')]),
      400,
      { code: 'invalid_command', field: '/group/members', item: 'g' },
    ],
    [
      'for an account that nobody knows',
      group('g', [member('m-1')], { account: 'south' }),
      422,
      { code: 'unknown_account', field: '/account', item: 'south' },
    ],
    [
      'with a member of malformed XML',
      group('g', [member('m-1'), member('m-2', '<documents version="1.38">\n<')]),
      422,
      { code: 'malformed_xml', field: '/group/members/1/xml', line: 2 },
    ],
    [
      'that would wait for itself',
      group('g', [member('m-1')], { after: ['after-g'] }),
      400,
      { code: 'invalid_command', field: '/after', item: 'after-g' },
    ],
    [
      'that would wait for its own member',
      group('g', [member('m-1')], { after: ['after-m-1'] }),
      400,
      { code: 'invalid_command', field: '/after' },
    ],
    ['of no members', group('g', []), 400, { code: 'invalid_command', field: '/group/members' }],
  ])('%s is refused whole, with the place', async (_, body, status, place) => {
    for (const one of [
      { command_id: 'used' },
      { command_id: 'after-g', after: ['g'] },
      { command_id: 'after-m-1', after: ['m-1'] },
    ])
      await harness.post({ ...one, xml: arrival() });
    const before = await harness.registered();
    const answer = await harness.post(body);
    expect([answer.status, answer.json()]).toEqual([status, expect.objectContaining(place)]);
    expect(await harness.registered()).toBe(before);
  });
});

describe('the backlog', () => {
  it('counts tasks of every lane, also those that wait for their time', async () => {
    const db = await testDatabase([tasksSchema]);
    // They wait there before the program starts: whenever it counts, it counts them.
    const queue = new PostgresTaskQueue({ pool: db.pool });
    const task = (n: number) => ({
      key: `send:${n}`,
      kind: 'send',
      lane: `account-${n}/send`,
      dueAt: new Date('2999-01-01T00:00:00Z'),
      payload: {},
    });
    await queue.schedule(db.pool, [task(1), task(2), task(3)]);
    await queue.close();
    const busy = await TestHarness.start(db, { maxBacklog: 3 });
    try {
      const answer = await busy.post({ command_id: 'one-more', xml: arrival() });
      expect([
        answer.status,
        answer.json()['code'],
        answer.headers.get('retry-after'),
        await busy.registered(),
      ]).toEqual([503, 'backlog_full', '5', 0]);
    } finally {
      await busy.stop();
    }
  });
});
