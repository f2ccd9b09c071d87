import { MAX_GATE_PACKS, type GateFinding, type GatePack, type GateReason } from '#domain';
import { obstaclesTo, typeKnowledge, type NextDocument } from '#documents';
import { defined } from '#kernel';
import type { Queryable } from '#postgres';
import { maskOf } from '../sgtin-history/doubtful-parts.js';
import type { TellingDocument } from '../port.js';
import { packsNow, type PackNow } from './now.js';
import { knownUpTo } from './record-age.js';
import { tellers } from './tellers.js';

/** What obstacles follow from: that it is open how much of a pack is left, or whose it is, excuses none of them. */
const JUDGED = maskOf(['status', 'place', 'containment']);

type Against = PackNow & { reasons: GateReason[] };

/**
 * The items of a document whose known state forbids it, in a fixed number of queries whatever their number. Nothing
 * speaks against an item of which nothing is known, or of which a later document left open what an obstacle would
 * follow from. That a pack is suspended does not count here.
 */
export async function packsAgainst(
  db: Queryable,
  document: NextDocument & { items: readonly string[] },
): Promise<GateFinding> {
  // Read before the states: they hold at least what was known there.
  const knownAt = String(await knownUpTo(db));
  const packs = await packsNow(db, [...new Set(document.items)], typeKnowledge);
  const sure = packs.filter(({ doubts }) => ((doubts ?? 0) & JUDGED) === 0);
  const against = sure
    .map((pack): Against => ({ ...pack, reasons: reasonsAgainst(document, pack) }))
    .filter(({ reasons }) => reasons.length > 0);
  const named = against.slice(0, MAX_GATE_PACKS);
  if (named.length === 0) return { packs: [], packCount: 0, knownAt };
  const tellerOf = await tellers(
    db,
    named.map(({ toldFrom }) => toldFrom),
    typeKnowledge,
  );
  return { packs: named.map((one) => gatePack(one, tellerOf(one.toldFrom))), packCount: against.length, knownAt };
}

const reasonsAgainst = (document: NextDocument, pack: PackNow): GateReason[] =>
  obstaclesTo(document, pack).filter((one) => one !== 'suspended');

function gatePack({ item, reasons, status, place, container }: Against, told: TellingDocument | undefined): GatePack {
  const { docType, requestId, documentId, knownAt } = told ?? {};
  const by = docType === undefined || knownAt === undefined ? undefined : { docType, knownAt };
  return {
    item,
    reasons,
    ...defined({
      status: status ?? undefined,
      place: place === null || place === '' ? undefined : place,
      container: container ?? undefined,
      toldBy: by && { ...by, ...defined({ requestId, documentId }) },
    }),
  };
}
