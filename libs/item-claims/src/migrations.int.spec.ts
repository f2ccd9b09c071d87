import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { migrate, migrationNames, type Pool } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { HOME, ItemWorld, P, Q } from '../test/item-world.js';

const ATTIC = '00000000000465';

let db: TestDatabase;
beforeEach(async () => {
  db = await testDatabase();
});
afterEach(() => db.drop());

/** The tables as they were up to this migration of claims. */
async function upTo(last: string): Promise<Pool> {
  const only = new Set(await migrationNames(ItemWorld.schemas));
  for (const name of only) if (name.startsWith('item-claims/') && name > `item-claims/${last}`) only.delete(name);
  await migrate(db.pool, ItemWorld.schemas, { only });
  return db.pool;
}

interface Given {
  number: number;
  docType: number;
  phase?: string;
  rank?: number;
  counterpartyId?: string;
  heldFor?: object[];
}

/** A document in flight: what claims kept of it, and what the read models tell. */
async function given(id: string, { number, docType, rank = number, ...more }: Given): Promise<void> {
  const { phase = 'clear', counterpartyId = null, heldFor = [] } = more;
  await db.pool.query(
    `INSERT INTO claim_holder (id, number, unit, rank, account, told_id, told_command, phase, rounds, waives,
       first_send)
     VALUES ($1, $2, $1, $3, 'main', $1, $1, $4, 1, false, $1)`,
    [id, number, rank, phase],
  );
  await db.pool.query(
    `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type, subject_id,
       counterparty_id, operation_date, item_count, phase, waiting_for, held_for, attempts, error_count,
       document_sha256, document_id, duplicate, registered_at)
     VALUES ($1, $2, $2, $1, 'main', $3, $4, $5, '', 1, 'x', '[]', $6, 1, 0, 'sha ' || $1, 'taken ' || $1, false,
       now())`,
    [id, number, docType, HOME, counterpartyId, JSON.stringify(heldFor)],
  );
}

async function givenGroup(
  id: string,
  { heldFor = [], resumes }: { heldFor?: object[]; resumes?: string },
): Promise<void> {
  await db.pool.query(
    `INSERT INTO document_group (group_id, registered_position, position, command_id, account, kind, phase, waiting_for,
       held_for, member_count, sent_count, ended_count, item_count, resumes, registered_at)
     VALUES ($1, 5, 5, $1, 'main', 'given', 'held', '[]', $2, 2, 0, 0, 2, $3, now())`,
    [id, JSON.stringify(heldFor), resumes ?? null],
  );
}

const claims = async (): Promise<string[]> =>
  (
    await db.pool.query<{ claim: string }>(
      `SELECT h.id || CASE WHEN c.is_exclusive THEN ' has ' ELSE ' means ' END || c.item AS claim
       FROM item_claim c JOIN claim_holder h ON h.number = c.holder ORDER BY h.number, c.item`,
    )
  ).rows.map((row) => row.claim);

it('those in flight mean their places after 0004, a move of a whole place has them, and 0003 finds operations', async () => {
  const pool = await upTo('0002-start.sql');
  await given('shipment', { number: 1, docType: 415, counterpartyId: 'c0ffee00-0000-0000-0000-000000000000' });
  await given('within', { number: 2, docType: 431, counterpartyId: ATTIC });
  await given('move', { number: 3, docType: 432, counterpartyId: ATTIC, phase: 'waiting' });
  await pool.query(`INSERT INTO item_claim VALUES ($1, 1, true, NULL), ($2, 2, true, NULL)`, [P, Q]);
  await migrate(pool, ItemWorld.schemas);
  expect(await claims()).toEqual([
    ...[`shipment means ${HOME}`, `shipment has ${P}`],
    ...[`within means ${HOME}`, `within means ${ATTIC}`, `within has ${Q}`],
    ...[`move has ${HOME}`, `move has ${ATTIC}`],
  ]);
  const { rows } = await pool.query('SELECT * FROM item_operation');
  expect(rows).toEqual([{ request_id: 'within', document_sha256: 'sha within', document_id: 'taken within' }]);
});

it('what is held and waits, or stands aside, is known to be held after 0005, and what went behind others after 0006', async () => {
  const pool = await upTo('0004-places.sql');
  const heldFor = [{ kind: 'person', number: 1, by: 'anna', reason: 'quality looks' }];
  await given('aside', { number: 1, rank: 9, docType: 415, phase: 'at_gate', heldFor });
  await given('stuck', { number: 2, docType: 415, phase: 'waiting', heldFor });
  await given('waiting', { number: 3, docType: 415, phase: 'waiting' });
  await given('released since', { number: 4, docType: 415, heldFor });
  await given('group', { number: 5, docType: 415, phase: 'waiting' });
  await givenGroup('group', {
    heldFor: [{ commandId: 'one', requestId: 'bad', outcome: 'rejected', since: '2026-03-01T10:00:00Z' }],
  });
  await migrate(pool, ItemWorld.schemas);
  const { rows } = await pool.query('SELECT id, holds, is_held, is_moved FROM claim_holder ORDER BY number');
  expect(rows).toEqual([
    { id: 'aside', holds: ['person'], is_held: true, is_moved: true },
    { id: 'stuck', holds: ['person'], is_held: true, is_moved: false },
    { id: 'waiting', holds: [], is_held: false, is_moved: false },
    { id: 'released since', holds: [], is_held: false, is_moved: false },
    { id: 'group', holds: ['bad'], is_held: true, is_moved: false },
  ]);
});

it('after 0007 nobody was told of what came in place of another, but for who waits for it by its own events', async () => {
  const pool = await upTo('0006-moved.sql');
  for (const [n, id] of ['bad', 'resend', 'behind', 'told', 'halted', 'replaced', 'replacing'].entries())
    await given(id, { number: n + 1, docType: 415, phase: 'waiting' });
  await pool.query(`UPDATE document_outcome SET resend_of = 'bad' WHERE request_id = 'resend'`);
  await pool.query(`UPDATE document_outcome SET superseded_by = 'replacing' WHERE request_id = 'replaced'`);
  await pool.query(`UPDATE document_outcome SET waiting_for = '[{"commandId": "c", "requestId": "resend"}]'
    WHERE request_id = 'told'`);
  await givenGroup('resumption', { resumes: 'halted' });
  await pool.query(`INSERT INTO item_wait SELECT p, d, true, 1 FROM (VALUES ('bad', 'behind'), ('resend', 'behind'),
    ('bad', 'told'), ('resend', 'told'), ('resend', 'by itself'), ('halted', 'behind'), ('resumption', 'behind'),
    ('replaced', 'behind'), ('replacing', 'behind')) AS v(p, d)`);
  await migrate(pool, ItemWorld.schemas);
  const { rows } = await pool.query('SELECT predecessor, dependent FROM item_wait WHERE NOT is_told ORDER BY 1');
  expect(rows).toEqual(
    ['replacing', 'resend', 'resumption'].map((predecessor) => ({ predecessor, dependent: 'behind' })),
  );
});

it('a move of a whole place that waited for what was held hears with the first page that it waits no more', async () => {
  const pool = await upTo('0004-places.sql');
  const heldFor = [{ kind: 'person', number: 1, by: 'anna', reason: 'quality looks' }];
  await given('stuck', { number: 1, docType: 415, phase: 'waiting', heldFor });
  await given('move', { number: 2, docType: 432, phase: 'waiting' });
  await given('same pack', { number: 3, docType: 415, phase: 'waiting' });
  await pool.query(
    `INSERT INTO item_claim VALUES ($1, 1, false, NULL), ($2, 1, true, NULL), ($1, 2, true, NULL), ($1, 3, false, NULL),
       ($2, 3, true, NULL)`,
    [HOME, P],
  );
  await pool.query(`INSERT INTO item_wait VALUES ('stuck', 'move', true, 1), ('stuck', 'same pack', true, 1)`);
  const world = await ItemWorld.open(pool);
  try {
    await world.register('new', { items: [Q] });
    world.crashes = 1;
    await world.catchUp();
    expect([...world.tasks.keys()]).toEqual(['lift_item_wait:move:stuck:1', 'wait_for_items:new:1']);
    expect(await world.rows('item_wait')).toBe(2);
  } finally {
    await world.close();
  }
});

it.each([
  { readUpTo: 5, isBehind: false },
  { readUpTo: 4, isBehind: true },
])(
  'what the registry told of containers counts after 0010, but for what documents said since ($readUpTo)',
  async ({ readUpTo, isBehind }) => {
    const pool = await upTo('0009-missed.sql');
    const [told, opened, known] = ['146070000000000101', '146070000000000102', '146070000000000103'];
    await pool.query(
      `INSERT INTO movement_document (known_from, request_id, doc_type, outcome, subject_id, operation_date, ordered_at,
       document_sha256, channel)
     SELECT n, '', 221, 'accepted', $1, '', '2026-03-01T10:00:00Z'::timestamptz + n * interval '1 hour', '', channel
     FROM (VALUES (1, 'registry_answer'), (2, 'registry_answer'), (3, NULL), (4, 'counterparty')) AS d(n, channel)`,
      [HOME],
    );
    await pool.query(
      `INSERT INTO containment VALUES (1, 0, $1, $3), (2, 0, $1, $4), (1, 1, $2, $5), (4, 0, 'of others', $3)`,
      [P, Q, known, told, opened],
    );
    await pool.query(
      `INSERT INTO movement_effect (known_from, effect, result, containment) VALUES (3, 0, 'applied', 'opened')`,
    );
    await pool.query('INSERT INTO item_movement VALUES (3, 0, 0, $1)', [opened]);
    await pool.query('INSERT INTO item_container VALUES ($1, $2)', [P, known]);
    await pool.query(
      `INSERT INTO checkpoint (name, position, updated_at)
     VALUES ('projection:sgtin-history', $1, now()), ('item-claims', 5, now())`,
      [readUpTo],
    );
    await migrate(pool, ItemWorld.schemas);
    const { rows } = await pool.query('SELECT child, parent FROM item_container');
    expect(rows).toEqual([{ child: P, parent: isBehind ? known : told }]);
  },
);
