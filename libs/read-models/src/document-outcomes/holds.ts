import {
  holdIdOf,
  type AfterHold,
  type Awaited,
  type DocumentWaiting,
  type GateHold,
  type Hold,
  type PredecessorHold,
} from '#domain';
import { defined } from '#kernel';
import type { DocumentPhase } from '../phases.js';
import type { AfterHoldShown, GateHoldShown, HoldShown, ItemHoldShown } from '../port.js';

/** A predecessor, as the rows of documents and groups keep it: with the items in which the two meet, where they do. */
export type WaitingForRow = Awaited & { /** ISO 8601; of a wait by items. */ since?: string };

/** A predecessor that ended badly. `since` is ISO 8601. */
export type HeldForPredecessor = Awaited & { outcome: AfterHold['outcome']; since: string };

/** What a document or a group is held for: a predecessor, or the state of its packs. */
export type HeldFor = HeldForPredecessor | (GateHold & { since: string });

/** Those that are predecessors. */
export const predecessorsHeldFor = (heldFor: readonly HeldFor[]): HeldForPredecessor[] =>
  heldFor.flatMap((one) => ('packs' in one ? [] : [one]));

/** What the sequence gate holds it for. */
export const gateHeldFor = (heldFor: readonly HeldFor[]): (GateHold & { since: string }) | undefined =>
  heldFor.flatMap((one) => ('packs' in one ? [one] : []))[0];

const rowIdOf = (one: HeldFor): string => ('packs' in one ? holdIdOf(one) : one.requestId);

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

type HoldChange = { predecessor: string } | { hold: Hold; at: Date } | { waived: Hold[] } | { lifted: 'gate' };

/** The row after one more wait; that by items comes on top of another. */
export function withWait({ waitingFor, heldFor }: HeldRow, wait: DocumentWaiting['data'], at: Date) {
  const since = wait.kind === 'items' ? { since: at.toISOString() } : {};
  return withPhase({ waitingFor: [...waitingFor, ...wait.for.map((one) => ({ ...one, ...since }))], heldFor });
}

/** The row after one more event of waiting: a predecessor ended well, or badly, or holds were waived or lapsed. */
export function changedHolds(
  { waitingFor, heldFor }: HeldRow,
  change: HoldChange,
): HeldRow & { phase: 'waiting' | 'held' } {
  if ('waived' in change)
    return withPhase({
      waitingFor,
      heldFor: heldFor.filter((one) => !change.waived.some((other) => holdIdOf(other) === rowIdOf(one))),
    });
  const others = predecessorsHeldFor(heldFor);
  if ('lifted' in change) return withPhase({ waitingFor, heldFor: others });
  if ('hold' in change && change.hold.kind === 'gate')
    return withPhase({ waitingFor, heldFor: [...others, { ...change.hold, since: change.at.toISOString() }] });
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
  const gate = gateHeldFor(row.heldFor);
  const own = [...predecessorHoldsOf(row), ...(gate === undefined ? [] : [shownGate(gate)])];
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

const shownGate = ({ kind, since, ...finding }: GateHold & { since: string }): GateHoldShown => ({
  ...{ kind, since, for: finding, waivableBy: 'operator' },
});

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
