import { parquet, type Duck } from '#duckdb';
import type { TypeKnowledge } from '#documents';
import { IN_OUR_NAME } from '#read-models';
import { MOST_DOCUMENTS } from './keys.js';
import { DOES, readMeanings, SAYS, type Meanings } from './meanings.js';

/** Parquet files of all movements up to a position and maybe beyond it, by what they hold. */
export interface Movements {
  packs: string[];
  items: string[];
  containers: string[];
  documents: string[];
  effects: string[];
  closings: string[];
}

/** What documents did, by place in the files of effects: a movement of a pack says at which place its effect is. */
export interface Effects {
  /** Of the first effect of each file. */
  begins: Int32Array;
  /** Of its document, from 1 on. 0: not known yet, or it moves nothing. CLOSED: it counts no longer. */
  rank: Int32Array;
  /** Index into `meanings`. */
  meaning: Int32Array;
  /** As its meaning says, a sum of DOES: one look where a walk would need two. */
  does: Uint8Array;
  /** Number of the container that it packs into; 0 for none. */
  container: Int32Array;
  meanings: Meanings;
  /** Log position of each document by its rank: the 64 bits are a pair, low half first. */
  knownFrom: Uint32Array;
}

export const CLOSED = -1;

/** In microseconds. A recall comes last within its second, as in the history of one pack. */
const ORDER = 'CASE WHEN recalls IS NULL THEN ordered_at ELSE ordered_at // 1000000 * 1000000 + 999999 END';

/** What the fold uses of a document. */
const TOLD = `known_from, ordered_at, request_id, document_id, channel, doc_type, outcome, subject_id, counterparty_id,
  recalls`;
/** And of what happened to a container or place. */
const MOVED = 'e.rank, e.result, e.containment, e.meaning';

const mayMove = (at: bigint, { movingNothing }: TypeKnowledge): string =>
  `known_from <= ${at} AND doc_type NOT IN (${movingNothing.join(', ')})`;

/**
 * Tables on which the fold stands: `document` with its rank, `container` (a number for each), `container_row`
 * (movements of containers and places); the types `status_word` and `place_word`; and what documents did. A document
 * that moves nothing of what it names is in none of them.
 */
export async function openDocuments(
  duck: Duck,
  { movements, at, types }: { movements: Movements; at: bigint; types: TypeKnowledge },
): Promise<Effects> {
  const effects = parquet(movements.effects);
  await duck.run(`
    CREATE TABLE told AS SELECT ${TOLD} FROM ${parquet(movements.documents)} WHERE ${mayMove(at, types)};
    CREATE TABLE closed AS SELECT DISTINCT known_from FROM ${parquet(movements.closings)} WHERE known_to <= ${at};
    CREATE TABLE recall AS SELECT * FROM told ANTI JOIN closed USING (known_from)
      WHERE recalls IS NOT NULL AND outcome IN ('accepted', 'partial');
    CREATE TABLE document AS SELECT known_from, doc_type, subject_id, counterparty_id,
        row_number() OVER (ORDER BY ${ORDER}, known_from) AS rank,
        known_from IN (FROM closed) AS is_closed,
        (request_id <> '' AND request_id IN (SELECT recalls FROM recall UNION
            SELECT request_id FROM told WHERE ${IN_OUR_NAME} AND document_id IN (SELECT recalls FROM recall)))
          OR coalesce(document_id IN (SELECT recalls FROM recall), false) AS is_recalled
      FROM told;
    CREATE TABLE other_row AS SELECT * FROM ${parquet(movements.containers)} WHERE known_from <= ${at};
    CREATE TABLE container AS SELECT name, row_number() OVER ()::INTEGER AS id FROM (
        SELECT item AS name FROM other_row UNION SELECT container FROM ${effects} WHERE container IS NOT NULL);
    -- A pack's own row goes before its container's of the same document: that matters where they say different things.
    CREATE TABLE mixed AS SELECT DISTINCT known_from FROM other_row WHERE known_from IN (
      SELECT known_from FROM ${effects} GROUP BY 1 HAVING count(*) > 1)`);
  const documents = await countDocuments(duck);
  await duck.run(`
    CREATE TABLE said AS SELECT e.file_index, e.file_row_number, e.known_from, e.effect, e.container, d.rank,
        d.is_closed, ${SAYS.map(([, from]) => from).join(', ')},
        d.is_recalled OR d.known_from IN (FROM mixed) AS is_odd
      FROM ${effects} e JOIN document d USING (known_from)`);
  const meanings = await readMeanings(duck, types);
  await duck.run(`
    CREATE TABLE container_row AS SELECT c.id, r.item, r.ordinal, ${MOVED}, p.id AS parent
      FROM other_row r JOIN effect_of e USING (known_from, effect) JOIN container c ON c.name = r.item
        LEFT JOIN container p ON p.name = e.container
      WHERE NOT e.is_closed;
    DROP TABLE other_row; DROP TABLE mixed; DROP TABLE closed; DROP TABLE said`);
  const told = await readEffects(duck, movements);
  const does = Uint8Array.from(told.meaning, (meaning) => meanings.does[meaning] as number);
  return { ...told, does, knownFrom: await readPositions(duck, documents), meanings };
}

/** An effect that packs into an unusual container makes its packs unusual. */
export function markUnusual({ does, container }: Effects, isUnusual: Uint8Array): void {
  for (let effect = 0; effect < does.length; effect += 1) {
    const did = does[effect] as number;
    if ((did & DOES.packs) > 0 && isUnusual[container[effect] as number] === 1) does[effect] = did | DOES.unusual;
  }
}

async function countDocuments(duck: Duck): Promise<number> {
  const [size] = await duck.rows<{ documents: bigint }>('SELECT count(*) AS documents FROM document');
  const documents = Number(size?.documents ?? 0);
  if (documents >= MOST_DOCUMENTS)
    throw new Error(`${documents} documents are more than the ${MOST_DOCUMENTS} that one fold can order`);
  return documents;
}

async function readPositions(duck: Duck, documents: number): Promise<Uint32Array> {
  const positions = new BigUint64Array(documents + 1);
  for await (const rows of duck.numbers('SELECT known_from::UBIGINT, rank::INTEGER FROM document')) {
    const [ids, ranks] = [rows.ids(0), rows.integers(1)];
    for (let n = 0; n < rows.count; n += 1) positions[ranks[n] as number] = ids[n] as bigint;
  }
  return new Uint32Array(positions.buffer);
}

type EffectsTold = Pick<Effects, 'begins' | 'rank' | 'meaning' | 'container'>;

async function readEffects(duck: Duck, { effects }: Movements): Promise<EffectsTold> {
  const sizes = await duck.rows<{ file: bigint; rows: bigint }>(
    `SELECT file_index AS file, count(*) AS rows FROM ${parquet(effects)} GROUP BY ALL`,
  );
  const begins = new Int32Array(effects.length + 1);
  for (const { file, rows } of sizes) begins[Number(file) + 1] = Number(rows);
  for (let file = 1; file <= effects.length; file += 1)
    begins[file] = (begins[file] as number) + (begins[file - 1] as number);
  const count = begins[effects.length] as number;
  const [rank, meaning, container] = [new Int32Array(count), new Int32Array(count), new Int32Array(count)];
  const all = duck.numbers(
    `SELECT file_index::INTEGER, file_row_number::INTEGER, (CASE WHEN is_closed THEN ${CLOSED} ELSE rank END)::INTEGER,
      meaning, coalesce(c.id, 0) FROM effect_of e LEFT JOIN container c ON c.name = e.container`,
  );
  for await (const rows of all) {
    const [file, row, ...told] = [0, 1, 2, 3, 4].map((column) => rows.integers(column)) as Int32Array[];
    for (let n = 0; n < rows.count; n += 1) {
      const at = (begins[(file as Int32Array)[n] as number] as number) + ((row as Int32Array)[n] as number);
      [rank, meaning, container].forEach((column, k) => (column[at] = (told[k] as Int32Array)[n] as number));
    }
  }
  await duck.run('DROP TABLE effect_of');
  return { begins, rank, meaning, container };
}
