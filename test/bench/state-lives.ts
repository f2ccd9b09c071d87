import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Duck } from '#duckdb';
import { DOCUMENTS, FILES, GROUP_ROWS, ITEM_CHECK, ITEM_ID, type Movements } from '#segments';

/** Packs that go through a stage of their lives together: six stages at once are a segment of a million rows. */
const COHORT = 166_667;
const STAGES = 6;
/** Segments between two stages of a pack. */
const APART = 4;
/** Packs of a document, which are those of a box, too; and boxes on a pallet. */
const BOX = 100;
const PALLET = 20;
const PLACES = 200;

const ITEM = `'04607001770' || lpad((i // 500000 % 1000)::VARCHAR, 3, '0') || upper(lpad(to_base((i * 2654435761) %
  4294967296, 36), 13, '0'))`;
const place = (salt: number): string => `lpad(((doc * 31 + ${salt}) % ${PLACES})::VARCHAR, 14, '0')`;
const box = (round: string): string => `'46070017' || ${round} || lpad((i // ${BOX})::VARCHAR, 9, '0')`;
const pallet = `'460700179' || lpad((i // ${BOX * PALLET})::VARCHAR, 9, '0')`;

/** What a document says of its items. */
interface Told {
  result?: string;
  status?: string;
  place?: string;
  containment?: string;
  container?: string;
}
const columnsOf = ({ result = "'applied'", status, place: at, containment, container }: Told): string =>
  `${result} AS result, ${status ?? 'NULL'} AS status, ${at ?? 'NULL'} AS place, ${containment ?? 'NULL'} AS
    containment,
    ${container ?? 'NULL'} AS container`;

const out = "'taken_out'";
const shipped = (salt: number): Told => ({ status: "'in_realization'", place: place(salt), containment: out });
const received = (salt: number): Told => ({ status: "'in_circulation'", place: place(salt), containment: out });
const packed = (container: string): Told => ({ containment: "'packed'", container });

/** By stage of the packs. */
const TOLD: Told[] = [
  { ...received(1), containment: 'NULL' },
  packed(box("'1'")),
  shipped(2),
  { ...received(3), status: "CASE WHEN doc % 200 = 7 THEN 'paused_circulation' ELSE 'in_circulation' END" },
  packed(box("'2'")),
  {
    result: "CASE doc % 3 WHEN 0 THEN 'refused' ELSE 'applied' END",
    status: "CASE doc % 3 WHEN 1 THEN 'in_sale' WHEN 2 THEN 'in_circulation' END",
    place: `CASE doc % 3 WHEN 2 THEN ${place(4)} END`,
    containment: "CASE doc % 3 WHEN 0 THEN NULL ELSE 'taken_out' END",
  },
];
/** What happens to boxes and pallets one segment after each packing: stage, item, told. */
const OTHERS: [number, string, Told][] = [
  [1, box("'1'"), packed(pallet)],
  [1, pallet, shipped(5)],
  [1, pallet, received(6)],
  [1, pallet, { containment: "'opened'" }],
  [1, box("'1'"), received(7)],
  [4, box("'2'"), shipped(8)],
  [4, box("'2'"), received(9)],
];

export interface Made {
  movements: Movements;
  rows: number;
  /** The last log position. */
  head: bigint;
}

/**
 * Writes the segments of so many packs with six movements of their own each, straight to Parquet: packed twice, in
 * boxes
 * on pallets that are shipped, received and opened; some suspended, some late, and one place moved whole.
 */
export async function makeSegments(duck: Duck, { folder, packs }: { folder: string; packs: number }): Promise<Made> {
  const movements: Movements = { packs: [], items: [], containers: [], documents: [], effects: [], closings: [] };
  const cohorts = Math.ceil(packs / COHORT);
  const steps = cohorts + (STAGES - 1) * APART + 1;
  let rows = 0;
  for (let step = 0; step < steps; step += 1) {
    const set = join(folder, String(step).padStart(4, '0'));
    mkdirSync(set, { recursive: true });
    rows += await writeStep(duck, { set, step, packs });
    for (const name of Object.keys(movements) as (keyof Movements)[]) movements[name].push(join(set, FILES[name]));
  }
  return { movements, rows, head: BigInt(steps * 200_000) };
}

async function writeStep(
  duck: Duck,
  { set, step, packs }: { set: string; step: number; packs: number },
): Promise<number> {
  await duck.run(`CREATE TABLE step_row (known_from BIGINT, item VARCHAR, is_pack BOOLEAN, result VARCHAR, status
    VARCHAR,
    place VARCHAR, containment VARCHAR, container VARCHAR)`);
  for (const [stage, told] of TOLD.entries()) {
    const source = packsOf(step - stage * APART, packs);
    await duck.run(`INSERT INTO step_row SELECT ${step} * 200000 + ${stage} * 10000 + doc % ${Math.ceil(COHORT / BOX)},
      ${ITEM}, true, ${columnsOf(told)} FROM (${source})`);
  }
  for (const [n, [stage, item, told]] of OTHERS.entries()) {
    const source = packsOf(step - stage * APART - 1, packs);
    await duck.run(`INSERT INTO step_row SELECT DISTINCT ${step} * 200000 + 60000 + ${n} * 200 + doc % 100,
      ${item}, false,
      ${columnsOf(told)} FROM (SELECT i, i // ${BOX * PALLET} AS doc FROM (${source}) WHERE i % ${BOX} = 0)`);
  }
  if (step === 19)
    await duck.run(`INSERT INTO step_row VALUES (${step} * 200000 + 199999, lpad('${step % PLACES}', 14, '0'), false,
      'applied', 'in_circulation', lpad('${(step + 1) % PLACES}', 14, '0'), NULL, NULL)`);
  return writeSet(duck, { set, step });
}

const packsOf = (cohort: number, packs: number): string =>
  `SELECT i, i // ${BOX} AS doc FROM range(${Math.max(0, cohort * COHORT)},
    ${cohort < 0 ? 0 : Math.min(packs, (cohort + 1) * COHORT)}) r (i)`;

/** By column of a document; the others are empty. One of fifty was accepted long before it was known. */
const TOLD_OF_DOCUMENT: Record<string, string> = {
  known_from: 'known_from',
  ordered_at: '(1767225600 + known_from - CASE WHEN known_from % 50 = 3 THEN 900000 ELSE 0 END) * 1000000',
  request_id: "'r-' || known_from",
  doc_type: '702',
  outcome: "'accepted'",
  subject_id: `lpad((known_from % ${PLACES})::VARCHAR, 14, '0')`,
};

async function writeSet(duck: Duck, { set, step }: { set: string; step: number }): Promise<number> {
  const write = (select: string, name: string, groupRows = 122_880): Promise<void> =>
    duck.run(`COPY (${select}) TO '${join(set, name)}' (FORMAT parquet, ROW_GROUP_SIZE ${groupRows})`);
  await duck.run(`CREATE TABLE step_effect AS SELECT *, (row_number() OVER (ORDER BY known_from, effect) - 1)::INTEGER
      AS "row" FROM (SELECT known_from, (row_number() OVER (PARTITION BY known_from) - 1)::INTEGER AS effect,
        * EXCLUDE (known_from) FROM (SELECT DISTINCT * EXCLUDE (item, is_pack) FROM step_row));
    CREATE TABLE step_item AS SELECT ${ITEM_ID} AS id, ${ITEM_CHECK} AS "check", r.item, r.is_pack, r.known_from,
        0::SMALLINT AS ordinal, e.effect, e."row" FROM step_row r
      JOIN step_effect e ON e.known_from = r.known_from AND e.container IS NOT DISTINCT FROM r.container
        AND e.status IS NOT DISTINCT FROM r.status AND e.place IS NOT DISTINCT FROM r.place AND e.result = r.result
        AND e.containment IS NOT DISTINCT FROM r.containment`);
  await write(
    `SELECT id, "check", item, known_from, ordinal, effect, "row" FROM step_item WHERE is_pack
     ORDER BY id >> 56, item`,
    FILES.packs,
    GROUP_ROWS,
  );
  // Only the first stage names packs that no earlier one named.
  await write(
    `SELECT id, "check", item FROM step_item WHERE is_pack AND known_from < ${step} * 200000 + 10000 ORDER BY id`,
    FILES.items,
    GROUP_ROWS,
  );
  await write('SELECT item, known_from, ordinal, effect FROM step_item WHERE NOT is_pack', FILES.containers);
  await write('SELECT * EXCLUDE ("row"), NULL::VARCHAR AS part FROM step_effect ORDER BY "row"', FILES.effects);
  await write(
    `SELECT DISTINCT ${Object.entries(DOCUMENTS.columns)
      .map(([name, type]) => `${TOLD_OF_DOCUMENT[name] ?? `NULL::${type}`} AS ${name}`)
      .join(', ')} FROM step_row`,
    FILES.documents,
  );
  await write('SELECT 0::BIGINT AS known_from, 0::BIGINT AS known_to WHERE false', FILES.closings);
  const [count] = await duck.rows<{ n: bigint }>('SELECT count(*) AS n FROM step_item WHERE is_pack');
  await duck.run('DROP TABLE step_row; DROP TABLE step_effect; DROP TABLE step_item');
  return Number(count?.n ?? 0);
}
