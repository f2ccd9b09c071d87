import { isStandKnown, obstaclesTo, typeKnowledge, type Obstacle } from '#documents';
import { readItemCode } from '#kernel';
import type { Queryable } from '#postgres';
import { present } from '../list-page.js';
import type { CheckPurpose, CheckQuery, PackCheck, PackChecks, PackSummary } from '../port.js';
import { unknownContentsAt } from '../sgtin-history/content-question.js';
import { recordedInForce, suspensionsUpTo, type InForce } from '../suspensions/in-force.js';
import { ON_ITS_WAY } from './fold.js';
import { packsTold } from './list.js';
import { packsNow, type PackTypes } from './now.js';
import { ageOfRecord } from './record-age.js';

type Reason = PackCheck['reasons'][number];
type CheckOnDay = CheckQuery & { day: string };

/** Statuses in which a pack stands at a place. */
const HERE = new Set(['in_circulation', 'paused_circulation']);

/**
 * Whether each scanned pack may be received, picked, shipped, returned or sold at this place now, from our record, and
 * why not. In the order of the codes.
 */
export async function checkPacks(db: Queryable, query: CheckOnDay, types: PackTypes): Promise<PackChecks> {
  const { knownAt: packsAt, newestAcceptedAt } = await ageOfRecord(db);
  const suspensionsAt = await suspensionsUpTo(db);
  const knownAt = suspensionsAt < packsAt ? suspensionsAt : packsAt;
  const codes = query.codes.map((code) => ({ code, read: readItemCode(code) }));
  const items = codes.flatMap(({ read }) => (read.kind === 'sgtin' ? [read.id] : []));
  const told = await packsTold(db, await packsNow(db, items, types), types);
  const packs = new Map(told.map((pack) => [pack.sgtin, pack]));
  const { purpose, place, day } = query;
  const unknownContents = await unknownContentsAt(db, place, types);
  const suspended = await recordedInForce(db, [...new Set(told.map(({ gtin }) => gtin))]);
  return {
    ...{ purpose, place, day, adviceOnly: purpose === 'sell', knownAt: String(knownAt) },
    ...present({ newestAcceptedAt: newestAcceptedAt?.toISOString() }),
    items: codes.map(({ code, read }) => {
      if (read.kind === 'none') return unread(code, { code: 'not_readable', sentence: `The code ${read.why}.` });
      if (read.kind === 'sscc')
        return unread(code, { code: 'is_container', sentence: 'This is a container: check its packs one by one.' });
      return { code, sgtin: read.id, ...checkOf(packs.get(read.id), { ...query, unknownContents, suspended }) };
    }),
  };
}

const unread = (code: string, reason: Reason): PackCheck => ({ code, answer: 'unknown', reasons: [reason] });

/** The answer about one pack, by what we know of it. Pure. */
function checkOf(
  pack: PackSummary | undefined,
  query: Pick<CheckOnDay, 'purpose' | 'place' | 'day'> & {
    /** Containers at the place, or on their way to it, of which nobody told what is in them. */
    unknownContents?: number;
    /** Series that are suspended: whatever a pack's status says, for no document needs to tell that of a pack. */
    suspended: Pick<InForce, 'gtins' | 'of'>;
  },
): Pick<PackCheck, 'answer' | 'reasons' | 'pack'> {
  const hidden = hiddenIn(query.unknownContents ?? 0);
  if (pack === undefined)
    return {
      answer: 'unknown',
      reasons: [{ code: 'not_in_record', sentence: 'No document that we know of has moved this pack.' }, ...hidden],
    };
  const isReceipt = query.purpose === 'receive';
  const against = isReceipt ? againstReceipt(pack, query) : againstLeaving(pack, query);
  const doubts = pack.uncertain === true ? [doubtOf(pack)] : [];
  // What is suspended may come: whoever takes it is told.
  const notes = isReceipt ? [...suspensionOf(pack), ...againstSeries(pack, query), ...doubtOfSeries(pack, query)] : [];
  if (!isReceipt) doubts.push(...doubtOfSeries(pack, query));
  // It may have come in one of these containers.
  if (hidden.length > 0 && against.every(({ code }) => code === 'not_shipped_to_place') && against.length > 0)
    return { answer: 'unknown', reasons: [...against, ...hidden, ...doubts, ...notes], pack };
  if (against.length > 0) return { answer: 'no', reasons: [...against, ...doubts, ...notes], pack };
  return { answer: doubts.length > 0 ? 'unknown' : 'yes', reasons: [...doubts, ...notes], pack };
}

function hiddenIn(unknownContents: number): Reason[] {
  if (unknownContents === 0) return [];
  const containers = unknownContents === 1 ? '1 container' : `${unknownContents} containers`;
  const sentence = `The content of ${containers} here, or on the way to this place, is unknown: it may be in there.`;
  return [{ code: 'content_unknown', sentence }];
}

const doubtOf = ({ uncertainBy }: PackSummary): Reason => ({
  code: 'uncertain',
  sentence: `What became of it by document ${uncertainBy?.requestId ?? uncertainBy?.documentId ?? ''} is not known.`,
});

/** Whether it matters that a pack is suspended: it may go back, and that is what is asked. */
const matters = ({ purpose }: Pick<CheckQuery, 'purpose'>): boolean => purpose !== 'return';

type Asked = Pick<CheckQuery, 'purpose'> & { suspended: Pick<InForce, 'gtins' | 'of'> };

function againstSeries({ gtin, series }: PackSummary, query: Asked): Reason[] {
  const [first] = series === undefined || !matters(query) ? [] : query.suspended.of(gtin, series);
  if (first === undefined) return [];
  return [
    { code: 'series_suspended', sentence: `Its series ${series} is suspended (${first}): it may only be returned.` },
  ];
}

function doubtOfSeries({ gtin, series }: PackSummary, query: Asked): Reason[] {
  if (series !== undefined || !matters(query) || !query.suspended.gtins.has(gtin)) return [];
  const sentence = 'A series of this product is suspended, and no document has told the series of this pack.';
  return [{ code: 'series_unknown', sentence }];
}

/** What is received although a document has suspended it. */
const suspensionOf = (pack: PackSummary): Reason[] =>
  typeKnowledge.isSuspended(pack.status ?? '') ? [{ code: 'suspended', sentence: SENTENCES.suspended(pack) }] : [];

function againstReceipt(pack: PackSummary, { place: here, day }: Pick<CheckOnDay, 'place' | 'day'>): Reason[] {
  const { status, place } = pack;
  if (status !== undefined && ON_ITS_WAY.has(status) && place === here) return expiryOf(pack, day);
  if (place === here && (status === 'waiting_confirmation' || (status !== undefined && HERE.has(status))))
    return [{ code: 'already_here', sentence: `It is at this place already, as ${status}.` }];
  if (isUsedUp(status)) return [notInTrade(status)];
  const where = place === undefined ? 'no place that is known' : `place ${place}`;
  return [
    { code: 'not_shipped_to_place', sentence: `It is not on its way to this place: ${status ?? 'unknown'}, ${where}.` },
    ...expiryOf(pack, day),
  ];
}

const expiryOf = ({ expiresOn }: PackSummary, day: string): Reason[] =>
  expiresOn === undefined || expiresOn >= day
    ? []
    : [{ code: 'expired', sentence: `It could be used until ${expiresOn}.` }];

/** Statuses from which a pack goes on; others have left circulation. */
const IN_TRADE = new Set([...ON_ITS_WAY, ...HERE, 'marked', 'waiting_confirmation', 'in_arbitration']);
const isUsedUp = (status: string | undefined): boolean => status !== undefined && !IN_TRADE.has(status);
const notInTrade = (status: string | undefined): Reason => ({
  code: 'not_in_trade',
  sentence: `It is no longer, or not yet, in circulation: ${status ?? 'its status is unknown'}.`,
});

/** The document by which a pack would go: what keeps it from that is in the table of document types. */
const GOES_BY: Record<Exclude<CheckPurpose, 'receive'>, number> = { pick: 415, ship: 415, return: 417, sell: 511 };

const SENTENCES: Record<Exclude<Obstacle, 'not_in_trade'>, (pack: PackSummary) => string> = {
  awaits_other_side: ({ status }) => `The other side has to confirm a transfer first: ${status}.`,
  in_arbitration: () => 'It is under arbitration.',
  suspended: () => 'It is suspended: it may only be returned.',
  not_at_place: ({ place }) => `Its place is ${place ?? 'unknown'}, not this one.`,
  in_container: ({ container }) => `It is in container ${container}: move that one, or extract the pack first.`,
};

/** All that keeps a pack from being picked, shipped, returned or sold. What is not known speaks against it, too. */
function againstLeaving(pack: PackSummary, query: Pick<CheckOnDay, 'purpose' | 'place' | 'day'> & Asked): Reason[] {
  const { purpose, place: here, day } = query;
  const { status } = pack;
  const docType = GOES_BY[purpose === 'receive' ? 'pick' : purpose];
  const known = { ...pack, place: pack.place ?? '' };
  const isKnown = status !== undefined && isStandKnown(status);
  return [
    ...(isKnown ? [] : [notInTrade(status)]),
    ...obstaclesTo({ docType, subjectId: here }, known).map((code): Reason =>
      code === 'not_in_trade' ? notInTrade(status) : { code, sentence: SENTENCES[code](pack) },
    ),
    ...againstSeries(pack, query),
    ...(purpose === 'return' ? [] : expiryOf(pack, day)),
  ];
}
