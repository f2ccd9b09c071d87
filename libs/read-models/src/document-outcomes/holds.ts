import {
  holdIdOf,
  isForPredecessor,
  type AfterHold,
  type Awaited,
  type DocumentReference,
  type DocumentWaiting,
  type Hold,
  type OwnHold,
  type PredecessorHold,
} from '#domain';
import { defined, neverReached } from '#kernel';
import type { DocumentPhase } from '../phases.js';
import type { AfterHoldShown, HoldShown, ItemHoldShown, OwnHoldShown } from '../port.js';

/** A predecessor, as the rows of documents and groups keep it: with the items in which the two meet, where they do. */
export type WaitingForRow = Awaited & { /** ISO 8601; of a wait by items. */ since?: string };

/** A predecessor that ended badly. `since` is ISO 8601. */
export type HeldForPredecessor = Awaited & { outcome: AfterHold['outcome']; since: string };

type Since<Hold> = Hold & { since: string };

/** What a document or a group is held for: a predecessor, or what is known of itself. */
export type HeldFor = HeldForPredecessor | Since<OwnHold>;

const isOwn = (one: HeldFor): one is Since<OwnHold> => 'kind' in one;

/** Those that are predecessors. */
export const predecessorsHeldFor = (heldFor: readonly HeldFor[]): HeldForPredecessor[] =>
  heldFor.flatMap((one) => (isOwn(one) ? [] : [one]));

/** What holds the document itself: the sequence gate, a suspension, a person. */
export const ownHoldOf = <Kind extends OwnHold['kind']>(
  heldFor: readonly HeldFor[],
  kind: Kind,
): Since<Extract<OwnHold, { kind: Kind }>> | undefined =>
  heldFor.filter(isOwn).find((one): one is Since<Extract<OwnHold, { kind: Kind }>> => one.kind === kind);

const rowIdOf = (one: HeldFor): string => (isOwn(one) ? holdIdOf(one) : one.requestId);

/** What stands in the way of a document or a group, as its row keeps it. */
export interface HeldRow {
  waitingFor: WaitingForRow[];
  heldFor: HeldFor[];
}

/** What else of a document's row tells whether it may be sent. */
interface DocumentStand {
  phase: DocumentPhase;
  attempts: number;
  groupId: string | null;
  registeredAt: Date;
}

type HoldChange =
  | { predecessor: string }
  | { hold: Hold; at: Date }
  | { waived: Hold[]; missing: DocumentReference[] }
  | { lifted: OwnHold['kind'] };

/** What was waived or lapsed; and what is not waited for any more, because it never came. */
export const waivedIn = ({
  holds,
  missing = [],
  stuck = [],
}: {
  holds: Hold[];
  missing?: DocumentReference[];
  stuck?: DocumentReference[];
}) => ({ waived: holds, missing: [...missing, ...stuck] });

/** The row after one more wait; that by items comes on top of another. */
export function withWait({ waitingFor, heldFor }: HeldRow, wait: DocumentWaiting['data'], at: Date) {
  const since = wait.kind === 'items' ? { since: at.toISOString() } : {};
  return withPhase({ waitingFor: [...waitingFor, ...wait.for.map((one) => ({ ...one, ...since }))], heldFor });
}

/**
 * The row after one more event of waiting: a predecessor ended well, or badly, or never came; or holds were waived or
 * lapsed.
 */
export function changedHolds(
  { waitingFor, heldFor }: HeldRow,
  change: HoldChange,
): HeldRow & { phase: 'waiting' | 'held' } {
  if ('waived' in change)
    return withPhase({
      waitingFor: waitingFor.filter((one) => change.missing.every((other) => other.requestId !== one.requestId)),
      heldFor: heldFor.filter((one) => !change.waived.some((other) => holdIdOf(other) === rowIdOf(one))),
    });
  const withoutKind = (kind: OwnHold['kind']): HeldFor[] => heldFor.filter((one) => !isOwn(one) || one.kind !== kind);
  if ('lifted' in change) return withPhase({ waitingFor, heldFor: withoutKind(change.lifted) });
  if ('hold' in change && !isForPredecessor(change.hold)) {
    const { hold, at } = change;
    return withPhase({ waitingFor, heldFor: [...withoutKind(hold.kind), { ...hold, since: at.toISOString() }] });
  }
  return ofPredecessor({ waitingFor, heldFor }, change as PredecessorChange);
}

type PredecessorChange = { predecessor: string } | { hold: PredecessorHold; at: Date };

function ofPredecessor({ waitingFor, heldFor }: HeldRow, change: PredecessorChange) {
  const about = 'hold' in change ? change.hold.for.requestId : change.predecessor;
  const rest = {
    waitingFor: waitingFor.filter((one) => one.requestId !== about),
    heldFor: heldFor.filter((one) => rowIdOf(one) !== about),
  };
  if (!('hold' in change)) return withPhase(rest);
  const { for: predecessor, outcome } = change.hold;
  return withPhase({
    ...rest,
    heldFor: [...rest.heldFor, { ...predecessor, outcome, since: change.at.toISOString() }],
  });
}

const withPhase = (row: HeldRow): HeldRow & { phase: 'waiting' | 'held' } => ({
  ...row,
  phase: row.heldFor.length > 0 ? 'held' : 'waiting',
});

/** Everything that the document's own stream knows to keep it from being sent. */
export function holdsOf(row: HeldRow & DocumentStand): HoldShown[] {
  const { phase, attempts, groupId, registeredAt } = row;
  const own = [...predecessorHoldsOf(row), ...row.heldFor.filter(isOwn).map(shownOwn)];
  if (groupId === null || phase !== 'ready' || attempts > 0) return own;
  return [...own, { kind: 'group', since: registeredAt.toISOString(), for: groupId, waivableBy: 'nobody' }];
}

/**
 * What a document or a group comes after, by its command or by its items. What merely waits is released by the log
 * alone; a bad end a person may waive.
 */
export function predecessorHoldsOf({
  waitingFor,
  heldFor,
  registeredAt,
}: HeldRow & { registeredAt: Date }): (AfterHoldShown | ItemHoldShown)[] {
  const named = waitingFor.filter((one) => !('items' in one));
  const met = waitingFor.filter((one) => 'items' in one);
  return [
    ...(named.length === 0 ? [] : [waitOf(named, registeredAt.toISOString())]),
    ...(met.length === 0 ? [] : [waitOf(met, met[0]?.since ?? registeredAt.toISOString())]),
    ...predecessorsHeldFor(heldFor).map(shownBadEnd),
  ];
}

const shownBadEnd = ({ since, ...predecessor }: HeldForPredecessor): AfterHoldShown | ItemHoldShown =>
  shownHold(predecessor, { since, waivableBy: 'operator' });

function shownOwn(hold: Since<OwnHold>): OwnHoldShown {
  switch (hold.kind) {
    case 'gate': {
      const { kind, since, ...finding } = hold;
      return { kind, since, for: finding, waivableBy: 'operator' };
    }
    case 'suspension': {
      const { kind, since, ...finding } = hold;
      return { kind, since, for: finding, waivableBy: 'operator' };
    }
    case 'person': {
      const { kind, since, by, reason } = hold;
      return { kind, since, for: { by, reason }, waivableBy: 'operator' };
    }
    default:
      return neverReached(hold, 'hold');
  }
}

/** One hold for all that are waited for in one way. */
function waitOf(predecessors: WaitingForRow[], since: string): AfterHoldShown | ItemHoldShown {
  const [first, ...rest] = predecessors.map((one) => shownHold(one, { since, waivableBy: 'nobody' }));
  if (first === undefined) throw new Error('a wait for nobody');
  return { ...first, for: [first, ...rest].flatMap((one) => one.for) } as AfterHoldShown | ItemHoldShown;
}

function shownHold(
  predecessor: Awaited & { outcome?: AfterHold['outcome'] },
  { since, waivableBy }: { since: string; waivableBy: 'operator' | 'nobody' },
): AfterHoldShown | ItemHoldShown {
  const { commandId, requestId, outcome } = predecessor;
  const reference = { commandId, requestId, ...defined({ outcome }) };
  if (!('items' in predecessor)) return { kind: 'after', since, for: [reference], waivableBy };
  const { items, itemCount } = predecessor;
  return { kind: 'items', since, for: [{ ...reference, items, itemCount }], waivableBy };
}
