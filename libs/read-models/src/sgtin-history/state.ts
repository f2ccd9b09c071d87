import { CORRECTION_OF_DETAILS, type TypeKnowledge } from '#documents';
import { isIn, leavesPartOpen, leftOpen, toldBy, useOf, type DoubtfulPart } from './doubtful-parts.js';
import type { LivedRow } from './life.js';
import { afterUse, type Left } from './part-left.js';

/**
 * The state of one pack or container: a fold over the movements of its life, in the registry's order. Pure; each fact
 * keeps the movement that told it. Proven in state.spec.ts.
 */

/** What is known, and the movement that told it. */
export interface Fact<T = string> {
  value: T;
  by: LivedRow;
}

/** Goods between two sides: places or system ids. `reverse`: the receiver has them, and the shipper is to confirm. */
interface TransferUnderWay {
  from: string;
  to: string;
  order: 'direct' | 'reverse';
}

/** A movement of which it cannot be told whether it happened, and what it would have changed. */
interface Doubt {
  parts: DoubtfulPart[];
  why: string | undefined;
  by: LivedRow;
}

export const STATE_FINDINGS = ['transfer_not_known', 'more_than_whole', 'series_contradicts'] as const;

/** Where documents contradict one another. What the later one says counts. */
export interface StateFinding {
  kind: (typeof STATE_FINDINGS)[number];
  /** What was known before. */
  other?: string;
  by: LivedRow;
}

/** What is absent is not known. */
export interface ItemState {
  status?: Fact;
  /** Where it is or goes. */
  place?: Fact;
  /** Through which place or system id its owner acted last. */
  owner?: Fact;
  holder?: Fact;
  series?: Fact;
  /** YYYY-MM-DD; as the document has it where that is not a day. */
  expiry?: Fact;
  /** Code of the money that paid for it. */
  funding?: Fact;
  /** Absent while nothing was taken from it. */
  partLeft?: Fact<Left>;
  transfer?: Fact<TransferUnderWay>;
  /** Since which movement it has been suspended. */
  suspended?: Fact;
  doubts: Doubt[];
  findings: StateFinding[];
}

export type StateKnowledge = Pick<
  TypeKnowledge,
  'statusAfter' | 'transferOf' | 'mayChange' | 'usedUpStatus' | 'bringsBack' | 'isSuspended' | 'isLying'
>;

/** A movement; `recalled` are the log positions of the earlier ones that it makes as if they had not been. */
export type FoldedRow = LivedRow & { recalled?: readonly bigint[] };

export interface Folded {
  state: ItemState;
  /** The movements that concern the item, each with the status after it. */
  lived: LivedRow[];
}

/** @param gtin of a pack: what its containers are said to hold tells its series. */
export function foldState(
  rows: readonly FoldedRow[],
  { gtin, types }: { gtin: string | undefined; types: StateKnowledge },
): Folded {
  const lived: LivedRow[] = [];
  const recalled = new Set<bigint>();
  const after = (before: ItemState, row: FoldedRow): ItemState =>
    recalled.has(row.position) || !concerns(row, before, types) ? before : evolveState(before, row, { gtin, types });
  let state = UNKNOWN;
  /** Whether an earlier movement, as all counts now, is one of the item. */
  const counted = (at: number): boolean => {
    const row = rows[at] as FoldedRow;
    return row.depth >= 0 || concerns(row, rows.slice(0, at).reduce(after, UNKNOWN), types);
  };
  for (const [n, row] of rows.entries()) {
    if (!concerns(row, state, types)) continue;
    const earlier = row.recalled === undefined ? [] : indexesOf(rows.slice(0, n), row.recalled);
    if (earlier.length === 0 && isOfPlace(rows, row.recalled)) continue;
    if (row.recalled === undefined || earlier.length === 0) {
      state = evolveState(state, row, { gtin, types });
    } else {
      // The recall of a move of a place concerns only what that had moved.
      if (!earlier.some(counted)) continue;
      for (const position of row.recalled) recalled.add(position);
      state = rows.slice(0, n + 1).reduce(after, UNKNOWN);
    }
    lived.push({ ...row, status: statusTold(row, state) });
  }
  return { state, lived };
}

/** Where among these rows those of these log positions are. */
const indexesOf = (rows: readonly FoldedRow[], positions: readonly bigint[]): number[] =>
  rows.flatMap((row, n) => (positions.includes(row.position) ? [n] : []));

/** What recalls a move of a place before that came: nothing was moved. */
const isOfPlace = (rows: readonly FoldedRow[], recalled: readonly bigint[] | undefined): boolean =>
  recalled !== undefined && rows.every(({ position, depth }) => !recalled.includes(position) || depth < 0);

/** A move of a whole place concerns only what lay there: not what was on its way, sold, used or withdrawn. */
const concerns = (
  { depth, result, item }: FoldedRow,
  { place, status, transfer }: ItemState,
  { isLying }: Pick<StateKnowledge, 'isLying'>,
): boolean =>
  depth >= 0 || (result === 'applied' && item === place?.value && transfer === undefined && isLying(status?.value));

/** The status after a movement that tells one; a refused or doubtful one tells none. */
function statusTold(row: FoldedRow, { status }: ItemState): string | null {
  if (row.result !== 'applied') return row.status;
  return row.status === null && row.recalled === undefined ? null : (status?.value ?? null);
}

const UNKNOWN: ItemState = { doubts: [], findings: [] };

/** The state after one more movement. */
function evolveState(
  before: ItemState,
  row: LivedRow,
  { gtin, types }: { gtin: string | undefined; types: StateKnowledge },
): ItemState {
  switch (row.result) {
    case 'refused':
      return before;
    case 'undetermined':
      return describe(doubt(before, row, types), row, gtin);
    case 'applied':
      return describe(apply(before, row, types), row, gtin);
    default:
      throw new Error(`unknown result ${String(row.result satisfies never)} at position ${row.position}`);
  }
}

function doubt(before: ItemState, row: LivedRow, types: StateKnowledge): ItemState {
  const parts = leftOpen(row.docType, { isInside: row.depth > 0, types });
  if (parts.length === 0) return before;
  return { ...before, doubts: [...before.doubts, { parts, why: row.errorText ?? undefined, by: row }] };
}

function apply(before: ItemState, row: LivedRow, types: StateKnowledge): ItemState {
  const after: ItemState = { ...before };
  if (row.status !== null) after.status = { value: types.statusAfter(before.status?.value, row.status), by: row };
  for (const side of SIDES) setSide(after, side, { value: row[side], by: row });
  applyTransfer(after, row, types);
  applyPart(after, row, types);
  if (after.status === undefined || !types.isSuspended(after.status.value)) delete after.suspended;
  else after.suspended ??= { value: after.status.value, by: row };
  const use = useOf(row.docType, types);
  after.doubts = settled(before.doubts, toldBy(row, { isInside: row.depth !== 0, use }));
  return leavesPartOpen(row, use)
    ? { ...after, doubts: [...after.doubts, { parts: ['part_left'], why: undefined, by: row }] }
    : after;
}

const SIDES = ['place', 'owner', 'holder'] as const;

/** An empty text: nowhere, or nobody, that is known. */
function setSide(after: ItemState, side: (typeof SIDES)[number], { value, by }: Fact<string | null>): void {
  if (value === '') delete after[side];
  else if (value !== null) after[side] = { value, by };
}

/** Ownership changes when the awaited side accepts; what is taken back or refused is where it was. */
function applyTransfer(after: ItemState, row: LivedRow, types: StateKnowledge): void {
  const transfer = types.transferOf(row.docType);
  const known = after.transfer?.value;
  switch (transfer) {
    case undefined:
      return;
    case 'begins':
    case 'is claimed':
      after.transfer = { value: begun(row, transfer), by: row };
      return;
    case 'ends':
      if (known?.order === 'reverse') setSides(after, row, known.to);
      break;
    case 'is taken back':
    case 'is refused':
      if (known !== undefined) setSides(after, row, known.from);
      break;
    default:
      throw new Error(`unknown step of a transfer ${String(transfer satisfies never)}`);
  }
  if (known === undefined) after.findings = [...after.findings, { kind: 'transfer_not_known', by: row }];
  delete after.transfer;
}

function begun({ subjectId, counterpartyId }: LivedRow, transfer: 'begins' | 'is claimed'): TransferUnderWay {
  const other = counterpartyId ?? '';
  return transfer === 'begins'
    ? { from: subjectId, to: other, order: 'direct' }
    : { from: other, to: subjectId, order: 'reverse' };
}

function setSides(after: ItemState, row: LivedRow, value: string): void {
  for (const side of SIDES) setSide(after, side, { value, by: row });
}

/** How much of a pack is left; the last part takes the status of the whole. */
function applyPart(after: ItemState, row: LivedRow, types: StateKnowledge): void {
  if (types.bringsBack(row.docType)) delete after.partLeft;
  const usedUp = types.usedUpStatus(row.docType);
  if (usedUp === undefined) return;
  const { left, isMoreThanWhole } = afterUse(after.partLeft?.value, row.part ?? undefined);
  after.partLeft = { value: left, by: row };
  if (left === '0') after.status = { value: usedUp, by: row };
  if (isMoreThanWhole) after.findings = [...after.findings, { kind: 'more_than_whole', by: row }];
}

/** What a movement tells is doubtful no longer. */
const settled = (doubts: readonly Doubt[], told: number): Doubt[] =>
  doubts.flatMap((one) => {
    const parts = one.parts.filter((part) => !isIn(told, part));
    return parts.length === 0 ? [] : [{ ...one, parts }];
  });

const namesThePack = ({ depth, docType }: LivedRow): boolean => depth === 0 || docType === CORRECTION_OF_DETAILS;

/** Series, expiry and money, as documents name them. */
function describe(before: ItemState, row: LivedRow, gtin: string | undefined): ItemState {
  const after = { ...before };
  describeSeries(after, row, gtin);
  if (namesThePack(row) && row.expiry !== null) after.expiry = { value: dayOf(row.expiry), by: row };
  if (row.funding !== null) after.funding = { value: row.funding, by: row };
  return after;
}

/** What names the pack itself counts more than what tells of its container. */
function describeSeries(after: ItemState, row: LivedRow, gtin: string | undefined): void {
  const series = namesThePack(row) ? row.series : seriesIn(row.lots, gtin);
  if (series === null) return;
  const known = after.series?.value;
  if (known !== undefined && known !== series && row.docType !== CORRECTION_OF_DETAILS)
    after.findings = [...after.findings, { kind: 'series_contradicts', other: known, by: row }];
  if (namesThePack(row) || known === undefined) after.series = { value: series, by: row };
}

/** The one series of a product that a container is said to hold; null where it holds several, or none. */
function seriesIn(lots: string | null, gtin: string | undefined): string | null {
  if (lots === null || gtin === undefined) return null;
  const told = (JSON.parse(lots) as [gtin: string, series: string][]).filter(([product]) => product === gtin);
  const [first, ...others] = new Set(told.map(([, series]) => series));
  return first === undefined || others.length > 0 ? null : first;
}

const dayOf = (written: string): string => written.replace(/^(\d\d)\.(\d\d)\.(\d{4})$/, '$3-$2-$1');
