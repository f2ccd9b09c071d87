import { migrate, type Pool } from '#postgres';
import { readModelSchemas } from '#read-models';

/** Packs of one batch: one document of each step names them all, or the container that holds them. */
const PACKS_OF_BATCH = 100;
/** Batches written by one statement. */
const BATCHES_AT_ONCE = 100;
/** Movements of a batch: six steps name its packs, three its container. */
const ROWS_OF_BATCH = 6 * PACKS_OF_BATCH + 3;
const REUSED_PACKS = 50;
const REUSES = 40;

/** How a batch lives: type, status, place, containment; `is_box`: the step is about the container alone. */
const STEPS = `(VALUES
  (0, 10311, 'marked', '00000000000111', NULL, false), (1, 313, 'in_circulation', '00000000000111', NULL, false),
  (2, 911, NULL, NULL, 'packed', false), (3, 415, 'in_realization', '00000000000222', 'taken_out', true),
  (4, 607, 'in_circulation', '00000000000222', 'taken_out', true), (5, 912, NULL, NULL, 'opened', true),
  (6, 431, 'in_circulation', '00000000000333', 'taken_out', false), (7, 511, 'in_sale', NULL, 'taken_out', false),
  (8, 391, 'in_circulation', '00000000000333', NULL, false)
) AS step (step, doc_type, status, place, containment, is_box)`;

/** A container that is packed again and again, into another one, shipped in that, and unpacked with it. */
const ROUND = `(VALUES
  (0, 911, NULL, 'packed', 'pack', 'box'), (1, 911, NULL, 'packed', 'box', 'pallet'),
  (2, 415, 'in_realization', 'taken_out', 'pallet', NULL), (3, 912, NULL, 'opened_all', 'pallet', NULL)
) AS step (step, doc_type, status, containment, moved, container)`;

const SGTIN = (n: string): string => `'04607001770001S' || lpad((${n})::text, 12, '0')`;
const SSCC = (n: string): string => `'4600' || lpad((${n})::text, 14, '0')`;

const DOCUMENTS = (drawn: string): string => `
  INSERT INTO movement_document (known_from, request_id, doc_type, outcome, subject_id, counterparty_id, operation_date,
    accepted_at, ordered_at, document_sha256, receipt_sha256, recorded_at)
  SELECT position, md5('r' || position)::uuid::text, doc_type, 'accepted', '00000000000111', '00000000000222',
    '2026-01-15T10:00:00+03:00', at, at, repeat('ab', 32), repeat('cd', 32), at
  FROM (SELECT *, '2020-01-01T00:00:00Z'::timestamptz + position * interval '1 s' AS at FROM ${drawn}) AS drawn`;

const STEP_OF_BATCHES = `(SELECT $2::bigint * step + b + 1 AS position, b, step.* FROM ${STEPS},
  generate_series($3::bigint, $4::bigint) AS b WHERE step = $1) AS drawn`;
const ROUNDS = `(SELECT $1::bigint + ((r * $2 + n) * 4) + step + 1 AS position, n, step.* FROM ${ROUND},
  generate_series(0, $2::int - 1) AS n, generate_series(0, $3::int - 1) AS r) AS drawn`;
const OF_ROUND = `CASE moved WHEN 'pack' THEN ${SGTIN('900000000000 + n')} WHEN 'box' THEN ${SSCC('90000000 + n')}
  ELSE ${SSCC('91000000 + n')} END`;
const INTO = `CASE container WHEN 'box' THEN ${SSCC('90000000 + n')} WHEN 'pallet' THEN ${SSCC('91000000 + n')} END`;

const EFFECTS = `INSERT INTO movement_effect (known_from, effect, result, status, place, containment, container)
  SELECT position, 0, 'applied', status,`;
const ITEMS = 'INSERT INTO item_movement (known_from, effect, ordinal, item) SELECT position, 0, 0,';
const PACKINGS = 'INSERT INTO containment (known_from, ordinal, child, parent) SELECT position, 0,';
const EACH_PACK = `generate_series(0, ${PACKS_OF_BATCH - 1}) AS i`;

const LAST_STEP = 8;
/** Each pack of an ordinary life as its last document left it. */
const STATES = `
  INSERT INTO pack_state (item, at_micros, position, first_from, status_from, place_from, suspended, status, place)
  SELECT ${SGTIN(`b * ${PACKS_OF_BATCH} + i`)}, 1577836800000000 + position * 1000000, position, b + 1, position,
    position, false, status, place
  FROM ${STEP_OF_BATCHES}, ${EACH_PACK}`;

export interface ManyMovements {
  /** Movement rows there are. */
  rows: number;
  /** A pack of an ordinary life, by a number. */
  pack(n: number): string;
  /** A pack whose container was used forty times. */
  reusedPack(n: number): string;
}

/** Lives of packs by the hundred, each spread over the whole log, and some in containers that are used 40 times. */
export async function fillMovements(pool: Pool, rows: number): Promise<ManyMovements> {
  await migrate(pool, readModelSchemas);
  const batches = Math.max(1, Math.round(rows / ROWS_OF_BATCH));
  for (let step = 0; step < 9; step += 1)
    for (let from = 0; from < batches; from += BATCHES_AT_ONCE)
      await fillStep(pool, [step, batches, from, Math.min(batches, from + BATCHES_AT_ONCE) - 1]);
  for (let from = 0; from < batches; from += BATCHES_AT_ONCE)
    await pool.query(STATES, [LAST_STEP, batches, from, Math.min(batches, from + BATCHES_AT_ONCE) - 1]);
  await fillReused(pool, 9 * batches);
  for (const table of ['movement_document', 'movement_effect', 'item_movement', 'containment', 'pack_state'])
    await pool.query(`VACUUM ANALYZE ${table}`);
  return {
    rows: batches * ROWS_OF_BATCH + REUSED_PACKS * REUSES * 4,
    pack: (n) => `04607001770001S${String(n % (batches * PACKS_OF_BATCH)).padStart(12, '0')}`,
    reusedPack: (n) => `04607001770001S${900_000_000_000 + (n % REUSED_PACKS)}`,
  };
}

async function fillStep(pool: Pool, values: number[]): Promise<void> {
  const pack = SGTIN(`b * ${PACKS_OF_BATCH} + i`);
  await pool.query(DOCUMENTS(STEP_OF_BATCHES), values);
  await pool.query(
    `${EFFECTS} place, containment, CASE containment WHEN 'packed' THEN ${SSCC('b')} END FROM ${STEP_OF_BATCHES}`,
    values,
  );
  await pool.query(`${ITEMS} ${pack} FROM ${STEP_OF_BATCHES}, ${EACH_PACK} WHERE NOT is_box`, values);
  await pool.query(`${ITEMS} ${SSCC('b')} FROM ${STEP_OF_BATCHES} WHERE is_box`, values);
  await pool.query(
    `${PACKINGS} ${pack}, ${SSCC('b')} FROM ${STEP_OF_BATCHES}, ${EACH_PACK} WHERE containment = 'packed'`,
    values,
  );
}

async function fillReused(pool: Pool, after: number): Promise<void> {
  const values = [after, REUSED_PACKS, REUSES];
  await pool.query(DOCUMENTS(ROUNDS), values);
  await pool.query(`${EFFECTS} NULL, containment, ${INTO} FROM ${ROUNDS}`, values);
  await pool.query(`${ITEMS} ${OF_ROUND} FROM ${ROUNDS}`, values);
  await pool.query(`${PACKINGS} ${OF_ROUND}, ${INTO} FROM ${ROUNDS} WHERE container IS NOT NULL`, values);
}
