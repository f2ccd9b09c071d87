import type { GateFinding, GatePack, GateReason } from '#domain';

/** Why the state of a pack forbids a document, in the words of a sentence. */
const WORDS: Record<GateReason, (pack: GatePack) => string> = {
  awaits_other_side: ({ status }) => `is on its way between two sides (${status})`,
  in_arbitration: () => 'is under arbitration',
  not_in_trade: ({ status }) => `is ${status}`,
  not_at_place: ({ place }) => (place === undefined ? 'is no longer ours' : `stands at ${place}`),
  in_container: ({ container }) => `lies in container ${container}`,
};

const MOST_NAMED = 3;

/** For example `A is in_sale; B lies in container C; and 7 more`. */
export function packsListed({ packs, packCount }: GateFinding): string {
  const named = packs.slice(0, MOST_NAMED).map(inWords);
  const more = packCount - named.length;
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

const inWords = (pack: GatePack): string =>
  `${pack.item} ${pack.reasons.map((one) => WORDS[one](pack)).join(' and ')}${toldBy(pack)}`;

function toldBy({ toldBy: told }: GatePack): string {
  if (told === undefined) return '';
  return ` (told by ${told.docType} ${told.requestId ?? told.documentId ?? ''})`.replace(' )', ')');
}
