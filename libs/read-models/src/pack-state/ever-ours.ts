import { typeKnowledge } from '#documents';
import type { Queryable } from '#postgres';
import { ON_ITS_WAY, wasEverAt, type Types } from './fold.js';
import { loadLives } from './load.js';
import { JOIN_STAY, PLACE, STATUS } from './now.js';

/**
 * Whether a pack was ever ours. Nearly always its row tells: only packs that come to us again, or whose way to us was
 * ended, need a look into their lives (decision 108). Proven in received.int.spec.ts.
 */

const listed = (words: Iterable<string>): string => [...words].map((one) => `'${one}'`).join(', ');
const TAKE_BACK = typeKnowledge.known.filter((docType) =>
  ['is taken back', 'is refused'].includes(typeKnowledge.transferOf(docType) ?? ''),
);

/**
 * Conditions on `status`, `place`, `place_from` and `first_from` of a pack; `own`: the parameter of our places.
 * OFFSET 0 keeps them to one look into the index for each pack: else all documents would be read for few packs.
 */
const isComing = (own: string): string =>
  `coalesce(status IN (${listed(ON_ITS_WAY)}) AND place = ANY (${own}::text[]), false)`;
const TAKES_BACK = `doc_type IN (${TAKE_BACK.join(', ')})`;
const WAS_TAKEN_BACK = `EXISTS (SELECT FROM movement_document
    WHERE known_from = place_from AND ${TAKES_BACK} OFFSET 0)`;
/** The same where `told_from` is at hand with its document d: nearly always that moved the pack to its place. */
export const WAS_TAKEN_BACK_BY = `CASE WHEN place_from = told_from THEN d.${TAKES_BACK} ELSE ${WAS_TAKEN_BACK} END`;
/** Its way to us was ended by a refusal or a recall. */
const isRefused = (own: string, wasTakenBack: string): string =>
  `coalesce(place <> '' AND place <> ALL (${own}::text[]) AND ${wasTakenBack}, false)`;
/** It came by the document that brings it now: itself, or by what the registry told of the container. */
const IS_FIRST = `(first_from = place_from OR EXISTS (SELECT FROM movement_document told
    CROSS JOIN LATERAL (SELECT document_id FROM movement_document WHERE known_from = place_from OFFSET 0) brought
    WHERE told.known_from = first_from AND told.channel = 'registry_answer'
      AND brought.document_id = told.document_id OFFSET 0))`;
/** Only its life tells whether it was ever ours. */
export const mayBeNew = (own: string, wasTakenBack = WAS_TAKEN_BACK): string =>
  `(${isRefused(own, wasTakenBack)} OR ${isComing(own)} AND NOT ${IS_FIRST})`;

interface Ours {
  own: ReadonlySet<string>;
  types: Types;
}

/** Items whose lives are in memory at once. */
const ITEMS_AT_ONCE = 5_000;

/** Of these items those that, by their lives, have ever been at a place of ours, and not only on the way to it. */
export async function everOurs(db: Queryable, items: readonly string[], { own, types }: Ours): Promise<Set<string>> {
  const found = new Set<string>();
  for (let from = 0; from < items.length; from += ITEMS_AT_ONCE) {
    const some = items.slice(from, from + ITEMS_AT_ONCE);
    const lives = await loadLives(db, some);
    for (const item of some) if (wasEverAt(own, lives.lifeOf(item), types)) found.add(item);
  }
  return found;
}

const HOW_NEW = `SELECT item, ${mayBeNew('$2')} AS "mayBeNew", ${isComing('$2')} AS "isComing"
  FROM (SELECT s.item, s.first_from, coalesce(y.place_from, s.place_from) AS place_from,
      ${STATUS} AS status,
      ${PLACE} AS place
    FROM pack_state s ${JOIN_STAY} WHERE s.item = ANY ($1::text[])) AS pack`;

/** How items came to us, or did not. */
interface Ways {
  /** On their way to us, or refused or recalled on it, and never ours. */
  isNew: ReadonlySet<string>;
  /** Refused or recalled on their way to us, whether they were ever ours or not. */
  isRefused: ReadonlySet<string>;
}

export async function waysToUs(db: Queryable, items: readonly string[], ours: Ours): Promise<Ways> {
  const { rows } = await db.query<{ item: string; mayBeNew: boolean; isComing: boolean }>(HOW_NEW, [
    ...[items, [...ours.own]],
  ]);
  const asked = rows.filter(({ mayBeNew: isAsked }) => isAsked).map(({ item }) => item);
  const wereOurs = await everOurs(db, asked, ours);
  const itemsOf = (some: typeof rows): string[] => some.map(({ item }) => item);
  return {
    isNew: new Set([
      ...itemsOf(rows.filter((one) => one.isComing && !one.mayBeNew)),
      ...asked.filter((item) => !wereOurs.has(item)),
    ]),
    isRefused: new Set(itemsOf(rows.filter((one) => one.mayBeNew && !one.isComing))),
  };
}
