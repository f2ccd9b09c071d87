import { quoted, type Duck } from '#duckdb';
import type { TypeKnowledge } from '#documents';

/** What one meaning does to a pack: a sum of these. */
export const DOES = {
  applied: 1,
  status: 2,
  place: 4,
  /** Casts doubt on the status. */
  doubt: 8,
  /** Changes containment in any way. */
  changes: 16,
  packs: 32,
  /** The pack's state is not its last movement of each kind: see unusual.ts. */
  unusual: 64,
} as const;

/** What an effect says: column and where it is. Effects that say the same have one meaning. */
export const SAYS = [
  ['result', 'e.result'],
  ['status', 'e.status'],
  ['place', 'e.place'],
  ['containment', 'e.containment'],
  ['part', 'e.part'],
  ['doc_type', 'd.doc_type'],
  ['subject_id', 'd.subject_id'],
  ['counterparty_id', 'd.counterparty_id'],
] as const;

export interface Meaning {
  meaning: number;
  result: 'applied' | 'refused' | 'undetermined';
  status: string | null;
  place: string | null;
  containment: 'packed' | 'taken_out' | 'opened' | 'opened_all' | null;
  part: string | null;
  doc_type: number;
  subject_id: string;
  counterparty_id: string | null;
  is_odd: boolean;
}

/** All meanings; codes are those of `status_word` and `place_word`, 0 for nothing. */
export interface Meanings {
  all: Meaning[];
  does: Int32Array;
  status: Int32Array;
  place: Int32Array;
  statuses: Map<string, number>;
  places: Map<string, number>;
  /** Places of which all that they held was moved once. */
  moved: Set<string>;
}

/** Numbers the meanings of `said`, and makes `effect_of` of it: said, with its meaning. */
export async function readMeanings(duck: Duck, types: TypeKnowledge): Promise<Meanings> {
  const columns = [...SAYS.map(([column]) => column), 'is_odd'];
  await duck.run(`
    CREATE TABLE meaning AS SELECT *, row_number() OVER ()::INTEGER - 1 AS meaning FROM (
      SELECT DISTINCT ${columns.join(', ')} FROM said);
    CREATE TABLE effect_of AS SELECT s.*, m.meaning FROM said s JOIN meaning m
      ON ${columns.map((column) => `s.${column} IS NOT DISTINCT FROM m.${column}`).join(' AND ')}`);
  const all = await duck.rows<Meaning>('FROM meaning ORDER BY meaning');
  const moved = await duck.rows<{ item: string }>(
    'SELECT DISTINCT item FROM other_row WHERE item IN (SELECT place FROM meaning)',
  );
  return meaningsOf(duck, { all, moved: new Set(moved.map(({ item }) => item)), types });
}

async function meaningsOf(
  duck: Duck,
  { all, moved, types }: { all: Meaning[]; moved: Set<string>; types: TypeKnowledge },
): Promise<Meanings> {
  const usedUp = all.map((one) => types.usedUpStatus(one.doc_type));
  const statuses = await words(duck, 'status_word', [
    types.suspension.then,
    ...all.map((one) => one.status),
    ...usedUp,
  ]);
  const places = await words(
    duck,
    'place_word',
    all.flatMap((one) => [one.place, one.subject_id, one.counterparty_id]),
  );
  return {
    all,
    does: Int32Array.from(all, (one) => doesOf(one, { moved, types })),
    status: Int32Array.from(all, ({ status }) => statuses.get(status ?? '') ?? 0),
    place: Int32Array.from(all, ({ place }) => places.get(place ?? '') ?? 0),
    ...{ statuses, places, moved },
  };
}

/** Makes a type of words with a code for each, from 1 on; 0 is the empty word. */
async function words(
  duck: Duck,
  type: string,
  all: readonly (string | null | undefined)[],
): Promise<Map<string, number>> {
  const distinct = [...new Set(all)].filter((word) => word !== null && word !== undefined && word !== '') as string[];
  await duck.run(`CREATE TYPE ${type} AS ENUM (${['', ...distinct].map(quoted).join(', ')})`);
  return new Map(distinct.map((word, n) => [word, n + 1]));
}

/** Steps of a transfer after which a pack's place may follow from an earlier document. */
const LOOKS_BACK = new Set(['is claimed', 'is taken back', 'is refused']);

type Known = { moved: Set<string>; types: TypeKnowledge };

function doesOf(one: Meaning, known: Known): number {
  const { doc_type: docType, result, status, place, containment } = one;
  const unusual = isUnusual(one, known) ? DOES.unusual : 0;
  if (result === 'undetermined')
    return unusual + (known.types.mayChange(docType, { isInside: false }).includes('status') ? DOES.doubt : 0);
  if (result !== 'applied') return unusual;
  return (
    unusual +
    DOES.applied +
    (status === null ? 0 : DOES.status) +
    (place === null ? 0 : DOES.place) +
    (containment === null ? 0 : DOES.changes) +
    (containment === 'packed' ? DOES.packs : 0)
  );
}

function isUnusual(one: Meaning, { moved, types }: Known): boolean {
  const { doc_type: docType, result, status, place, part, is_odd: isOdd } = one;
  if (isOdd || result !== 'applied') return isOdd;
  if (status !== null && types.isSuspended(status)) return true;
  if (place !== null && moved.has(place)) return true;
  return (
    LOOKS_BACK.has(types.transferOf(docType) ?? '') || (part !== null && types.usedUpStatus(docType) !== undefined)
  );
}
