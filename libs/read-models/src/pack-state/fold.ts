import { typeKnowledge, type TypeKnowledge } from '#documents';
import { leavesPartOpen, maskOf, toldBy } from '../sgtin-history/doubtful-parts.js';
import { afterUse, type Left } from '../sgtin-history/part-left.js';
import { compare, type LifeEntry, type Lives, type Moment, type Told } from './lives.js';
import { transferAfter, transferParts } from './transfer.js';
import { PACK_STAY, PACK_STATE, type PackStateRow, type PackStayRow } from './row.js';

export type Types = Pick<TypeKnowledge, 'statusAfter'>;

/** A document that moved all that a place held. */
export interface PlaceMove extends Moment {
  from: string;
  to: string | null;
  status: string | null;
  owner: string | null;
  holder: string | null;
}

/** A status in which a pack stays, whatever moves it while it is in trade. */
const SUSPENDED = 'paused_circulation';
const isSuspended = (status: string | null, { statusAfter }: Types): boolean =>
  status !== null && statusAfter(status, 'in_circulation') === SUSPENDED;

/** Status and place as documents say them one after another, what is open, and which of them said so. */
export type Standing = Pick<
  PackStateRow,
  'status' | 'place' | 'transfer' | 'statusFrom' | 'placeFrom' | 'doubtFrom' | 'doubts'
>;

const NOTHING_KNOWN: Standing = {
  ...{ status: null, place: null, transfer: null, statusFrom: null, placeFrom: null, doubtFrom: null, doubts: null },
};

type Doubts = Pick<Standing, 'doubtFrom' | 'doubts'>;

/** What is open after a document that told these parts, and left those open. */
function doubtsAfter(
  before: Doubts,
  { position, told, opened }: Record<'told' | 'opened', number> & Pick<Moment, 'position'>,
): Doubts {
  const doubts = ((before.doubts ?? 0) & ~told) | opened;
  if (doubts === 0) return { doubts: null, doubtFrom: null };
  return { doubts, doubtFrom: opened === 0 ? before.doubtFrom : position };
}

type Moving = Pick<LifeEntry, 'effect' | 'position' | 'transfer' | 'isRecalled' | 'leavesOpen' | 'use'>;
/** `isInside`: the document moved what holds the item. */
interface Way {
  types: Types;
  isInside: boolean;
}

const counts = ({ effect, isRecalled }: Pick<LifeEntry, 'effect' | 'isRecalled'>): boolean =>
  effect.result !== 'refused' && isRecalled !== true;

const PART_LEFT = maskOf(['part_left']);

function moved(standing: Standing, entry: Moving, { types, isInside }: Way): Standing {
  const { effect, position, transfer: step, leavesOpen, use } = entry;
  if (!counts(entry)) return standing;
  if (effect.result === 'undetermined') {
    const opened = isInside ? leavesOpen.inside : leavesOpen.itself;
    return { ...standing, ...doubtsAfter(standing, { position, told: 0, opened }) };
  }
  const { status } = effect;
  const transferred = step === undefined ? { transfer: standing.transfer } : transferAfter(standing.transfer, step);
  const place = transferred.place ?? effect.place;
  const told = toldBy(effect, { isInside, use });
  return {
    ...standing,
    ...doubtsAfter(standing, { position, told, opened: leavesPartOpen(effect, use) ? PART_LEFT : 0 }),
    transfer: transferred.transfer,
    ...(status === null
      ? {}
      : { status: types.statusAfter(standing.status ?? undefined, status), statusFrom: position }),
    ...(place === null ? {} : { place, placeFrom: position }),
  };
}

/** A move of a whole place uses up nothing, and is no doubt: what it did to an item is known, or it did nothing. */
const OF_PLACE_MOVE = { leavesOpen: { itself: 0, inside: 0 }, use: { usedUp: undefined, bringsBack: false } };

/** The item where all that its place held was moved: that counts when it lay there. The same object when it did not. */
export const movedWithPlace = (
  standing: Standing,
  { from, to, position, ...said }: PlaceMove,
  types: Types,
): Standing =>
  standing.place !== from || standing.transfer !== null || !typeKnowledge.isLying(standing.status)
    ? standing
    : moved(
        standing,
        {
          ...OF_PLACE_MOVE,
          position,
          effect: { result: 'applied', ...said, place: to, containment: null, container: null, part: null },
        },
        { types, isInside: false },
      );

/** Statuses of packs on their way from one side to the other. */
export const ON_ITS_WAY: ReadonlySet<string> = new Set([
  ...['in_realization', 'transferred_to_agent', 'confirm_return_paused'],
]);

/**
 * Whether, in this life, an item was ever at one of these places: it stood there and was not only on its way there, or
 * a transfer from there began, or ended. Pure.
 */
export function wasEverAt(places: ReadonlySet<string>, life: readonly LifeEntry[], types: Types): boolean {
  let standing = NOTHING_KNOWN;
  return life.some((entry) => {
    standing = moved(standing, entry, { types, isInside: false });
    const { status, place, transfer } = standing;
    if (transfer !== null) return places.has(transferParts(transfer).from);
    return (place !== null && places.has(place) && !ON_ITS_WAY.has(status ?? '')) || isAcceptedFrom(places, entry);
  });
}

/** Whether it tells that the other side has accepted goods from one of these places. */
const isAcceptedFrom = (places: ReadonlySet<string>, entry: LifeEntry): boolean =>
  counts(entry) &&
  entry.effect.result === 'applied' &&
  entry.transfer?.step === 'ends' &&
  places.has(entry.transfer.counterparty ?? '');

/** How much of a pack is left; the last part takes the status of the whole, as in the history of one pack. */
function usedBy(
  { standing, left }: { standing: Standing; left: Left | undefined },
  { effect, use, isRecalled }: LifeEntry,
): { standing: Standing; left: Left | undefined } {
  if (effect.result !== 'applied' || isRecalled === true) return { standing, left };
  const before = use.bringsBack ? undefined : left;
  if (use.usedUp === undefined) return { standing, left: before };
  const after = afterUse(before, effect.part ?? undefined).left;
  const isLast = effect.part !== null && after === '0';
  return { standing: isLast ? { ...standing, status: use.usedUp } : standing, left: after };
}

/** Which document told that it is suspended, by how it stood before: the first since it was not. */
const suspendedSince = (
  since: bigint | null,
  { before, after }: Record<'before' | 'after', Standing>,
  types: Types,
) => {
  if (!isSuspended(after.status, types)) return null;
  return isSuspended(before.status, types) ? since : after.statusFrom;
};

/** Whether it moved the item, or left open whether it did. */
const mayMove = ({ effect, movesNothing }: LifeEntry): boolean => effect.result !== 'refused' && movesNothing !== true;

/** How an item stands after a document, how much of it is left, and since which one it is suspended. */
interface Walk {
  last: Moment;
  standing: Standing;
  left: Left | undefined;
  suspendedFrom: bigint | null;
}

function after(walk: Walk, entry: LifeEntry, way: Way): Walk {
  const { standing, left } = usedBy({ ...walk, standing: moved(walk.standing, entry, way) }, entry);
  const suspendedFrom = suspendedSince(walk.suspendedFrom, { before: walk.standing, after: standing }, way.types);
  return { last: entry, standing, left, suspendedFrom };
}

interface Folding {
  types: Types;
  placeMoves: readonly PlaceMove[];
}

/**
 * Up to the last document that concerns the item by itself. That is, of what moved its container after its `own` last
 * one, all until the transfer has ended in which it went in, and what follows on a move of the place that took it
 * along: how it stood then no stay tells.
 */
function walked(item: string, { life, own }: { life: readonly LifeEntry[]; own: Moment }, folding: Folding): Walk {
  const { types, placeMoves } = folding;
  let walk: Walk = { last: own, standing: NOTHING_KNOWN, left: undefined, suspendedFrom: null };
  let byItself = walk;
  let moves = placeMoves;
  for (const entry of life) {
    const isStay = compare(entry, own) > 0;
    const isOpen = byItself.standing.transfer !== null;
    if (isStay && !isOpen && moves.length === 0) break;
    if (isStay && !mayMove(entry)) continue;
    const earlier = moves.filter((move) => compare(move, entry) < 0);
    moves = moves.slice(earlier.length);
    const standing = earlier.reduce((so, move) => movedWithPlace(so, move, types), walk.standing);
    const isByItself = !isStay || isOpen || standing !== walk.standing;
    walk = after({ ...walk, standing }, entry, { types, isInside: entry.item !== item });
    if (isByItself) byItself = walk;
  }
  return byItself;
}

/** The row of an item; undefined where no document has moved it, nor left open whether it did. */
export function packState(item: string, lives: Lives, folding: Folding): PackStateRow | undefined {
  const own = lives.ownOf(item).findLast(mayMove);
  if (own === undefined) return undefined;
  const whole = lives.lifeOf(item);
  const { last, standing, suspendedFrom } = walked(item, { life: whole, own }, folding);
  const { atMicros, position } = last;
  return {
    ...PACK_STATE.nulls,
    item,
    atMicros,
    position,
    firstFrom: whole.find(mayMove)?.position ?? position,
    ...standing,
    ...seriesOf(lives.toldAbout(item, whole)),
    ...{ suspended: isSuspended(standing.status, folding.types), suspendedFrom },
    container: lives.containerAfter(item, last) ?? null,
  };
}

/**
 * What was said of the pack last counts; where nothing was, what was said first of its container's content. Who said so
 * first is told.
 */
export function seriesOf(told: readonly Told[]): Pick<PackStateRow, 'series' | 'expiresOn' | 'seriesFrom'> {
  const expiry = counting(told.filter((one) => one.expiresOn !== null)).at(-1);
  const named = counting(told.filter((one) => one.series !== null));
  const series = named.at(-1)?.series ?? null;
  const other = named.findLastIndex((one) => one.series !== series);
  return {
    series,
    expiresOn: expiry?.expiresOn ?? null,
    seriesFrom: named[other + 1]?.position ?? expiry?.position ?? null,
  };
}

function counting(told: readonly Told[]): readonly Told[] {
  const ofPack = told.filter(({ isOfContent }) => isOfContent !== true);
  return ofPack.length > 0 ? ofPack : told.slice(0, 1);
}

/** Which stay: of what was in a container at a moment. */
export type StayKey = Pick<PackStayRow, 'container' | 'atMicros' | 'position'>;

/** How what had this status, inside of what they moved, stands after these, and which of them suspended it. */
function through(
  entries: readonly LifeEntry[],
  status: string | null,
  types: Types,
): { standing: Standing; since: bigint | null } {
  let [standing, since]: [Standing, bigint | null] = [{ ...NOTHING_KNOWN, status }, null];
  for (const entry of entries) {
    const after = moved(standing, entry, { types, isInside: true });
    since = suspendedSince(since, { before: standing, after }, types);
    standing = after;
  }
  return { standing, since };
}

/** All that these told of what was inside, whether it is open again or not. */
const toldInside = (entries: readonly LifeEntry[]): number =>
  entries.reduce(
    (told, one) =>
      one.effect.result === 'applied' && counts(one)
        ? told | toldBy(one.effect, { isInside: true, use: one.use })
        : told,
    0,
  );

/** What has happened to a container's content since: the status before matters only by whether it was suspended. */
export function packStay(key: StayKey, lives: Lives, types: Types): PackStayRow {
  const { entries, to } = lives.carriedSince(key.container, key);
  const any = through(entries, null, types);
  const paused = through(entries, SUSPENDED, types);
  return {
    ...PACK_STAY.nulls,
    ...key,
    ...any.standing,
    told: toldInside(entries) || null,
    ...{ suspendedFrom: any.since, pausedFrom: paused.since },
    pausedStatus: any.standing.statusFrom === null ? null : paused.standing.status,
    movedFrom: entries.findLast(mayMove)?.position ?? null,
    endedMicros: to?.atMicros ?? null,
    endedPosition: to?.position ?? null,
  };
}

/** How an item stands now, by its row, its stay and what its place was moved by since. */
export interface StandingNow extends Standing {
  container: string | null;
  /** The last document that moved it, or left that open. */
  toldFrom: bigint;
}

export function standingNow(row: PackStateRow, stay: PackStayRow | undefined): StandingNow {
  const { position: toldFrom, container, suspended, transfer } = row;
  if (stay === undefined) return { ...standingOf(row), container, toldFrom };
  const { doubtFrom, doubts, told } = stay;
  return {
    ...(stay.statusFrom === null
      ? standingOf(row)
      : { ...standingOf(stay), status: suspended ? stay.pausedStatus : stay.status }),
    ...doubtsAfter(row, { position: doubtFrom ?? 0n, told: told ?? 0, opened: doubts ?? 0 }),
    ...(stay.placeFrom === null
      ? { place: row.place, placeFrom: row.placeFrom }
      : { place: stay.place, placeFrom: stay.placeFrom }),
    transfer: transfer ?? stay.transfer,
    container: stay.endedPosition === null ? container : null,
    toldFrom: stay.movedFrom ?? toldFrom,
  };
}

const standingOf = ({ status, place, transfer, statusFrom, placeFrom, doubtFrom, doubts }: Standing): Standing => ({
  ...{ status, place, transfer, statusFrom, placeFrom, doubtFrom, doubts },
});
