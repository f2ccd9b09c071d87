import {
  endedBadly,
  firstSend,
  groupIdOfStream,
  MAX_ITEM_PREDECESSORS,
  requestIdOfStream,
  type ContainerContentObserved,
  type ConclusionRevised,
  type DocumentOutcome,
  type DocumentReleased,
  type DocumentReference,
  type GroupRegistered,
  type Hold,
  type InboundConcluded,
  type ItemPredecessor,
  type ItemWait,
  type PlannedTask,
  type Registration,
} from '#domain';
import type { RecordedEvent } from '#event-store';
import { systemClock } from '#kernel';
import {
  endEachHold,
  highestNumber,
  holderOf,
  holdersById,
  holdersOfUnit,
  insertHolders,
  meetingsOf,
  moveBack,
  movedToWaiting,
  movePhase,
  notClearAmong,
  removeHolders,
  standAside,
  stepBack,
  wasTold,
  type Holder,
} from './holders.js';
import { endedHolds, endHolds, heldAmong, isLapse, mayEndHolds, missingIn, stuckIn, type EndOfHolds } from './holds.js';
import { endShield, keepMissedEnd, missedBy } from './missed-ends.js';
import { NOTHING } from './named-items.js';
import { liftItemWait, refuseRing, waitForItems, type TaskPlace } from './item-tasks.js';
import { acceptedBy, changeBy, changeByContent, changeByOthers, mayChange, mayChangeByOthers } from './late-changes.js';
import { isPlain, unitOf, type ClaimEvent, type MovingEvent, type PageOptions } from './read-page.js';
import { keepOperations, withRecalled } from './recalls.js';
import { openRing } from './rings.js';
import { RunOfClaims, type Plain } from './run-of-claims.js';
import {
  awaited,
  comeAfter,
  goAheadOf,
  insertWaits,
  liftWaitsForHeld,
  liftWaitsInPlaces,
  notAwaited,
  removeWaits,
  removeWaitsFor,
  takePlace,
  type LiftedWait,
  type WaitBasis,
} from './waits.js';

/** A transaction may last three times as long. */
const MOST_PAGE_MS = 10_000;

/** Where an event stands, and what a release says of the send that follows. */
interface Cause {
  position: bigint;
  released?: DocumentReleased['data'];
}

/**
 * One page of the log, in order, in one transaction. Runs of plain registrations and ends are worked in memory, with a
 * few statements for the whole run. What is rare (groups, releases, resends, documents with `after` or that somebody
 * waits for already) is decided by the tables, after what came before it was written.
 */
export class PageOfClaims {
  private readonly tasks: PlannedTask[] = [];
  private readonly run: RunOfClaims;
  private lastNumber: number | undefined;
  /** The event that is decided about. */
  private cause: Cause = { position: 0n };
  private readonly place: TaskPlace;
  /** Of those that this page tells to be sent, who stands aside or is to wait; and all who stand aside since. */
  private notClear = new Set<string>();
  /** Of those of this page of which a hold may end, who is held; and all who are since. */
  private held = new Set<string>();

  constructor(private readonly options: PageOptions) {
    this.place = { lane: 'internal', dueAt: options.handledAt };
    this.run = new RunOfClaims(options, {
      // Decided as it registered, whatever the page has behind it.
      send: (holder) => this.planSend(holder, { position: holder.rank }),
      wait: (holder, predecessors) => this.planWait(holder, predecessors),
      lift: (lifted) => this.lift(lifted),
    });
  }

  /** Has those told who wait in places alone for what is held, before the page is worked; false where nobody does. */
  async liftForHeld(): Promise<boolean> {
    const lifted = await liftWaitsForHeld(this.options.tx);
    await this.lift(lifted);
    return lifted.length > 0;
  }

  /**
   * How many events it has worked, from the first: those behind them are left to the next page where time has run out.
   * What is decided about one takes some ten statements, and a database may be slow or far away.
   */
  async work(events: ClaimEvent[]): Promise<number> {
    const { tx, queue, clock = systemClock } = this.options;
    const untilMs = clock.monotonicMs() + MOST_PAGE_MS;
    const registered = events.flatMap((event) => (event.type === 'DocumentRegistered' ? [event.data.requestId] : []));
    const expected = registered.length === 0 ? new Set<string>() : await awaited(tx, registered);
    const sent = events.flatMap(({ type, stream }) => (type === 'DocumentSent' ? [requestIdOfStream(stream)] : []));
    if (sent.length > 0) this.notClear = await notClearAmong(tx, sent);
    const freed = events.flatMap((event) => (mayEndHolds(event) ? [unitOf(event.stream)] : []));
    if (freed.length > 0) this.held = await heldAmong(tx, freed);
    await keepOperations(tx, events);
    let worked = 0;
    for (; worked < events.length && (worked === 0 || clock.monotonicMs() < untilMs); worked += 1)
      await this.take(events[worked] as ClaimEvent, expected);
    await this.run.flush();
    if (this.tasks.length > 0) await queue.schedule(tx, this.tasks);
    return worked;
  }

  private async take(event: ClaimEvent, expected: Set<string>): Promise<void> {
    const { type, data, position } = event;
    this.cause = { position, ...(type === 'DocumentReleased' ? { released: data } : {}) };
    if (type === 'DocumentRegistered') await this.registered(data, position, expected);
    else if (type === 'GroupRegistered') await this.groupRegistered(data, position, expected);
    else if (type === 'ConclusionRevised') await this.changedLate(event);
    else if (type === 'InboundConcluded') await this.changedByOthers(event);
    else if (type === 'ContainerContentObserved') await this.contentTold(event);
    else await this.moveOn(event);
  }

  /** What happens to a document or a group that is registered. */
  private async moveOn(event: MovingEvent): Promise<void> {
    const { type, data, stream, position } = event;
    if (type === 'DocumentWaiting' || type === 'GroupWaiting') {
      if (data.kind === 'items') await this.told(unitOf(stream), data);
    } else if (type === 'DocumentReleased' || type === 'GroupReleased') await this.released(unitOf(stream), position);
    else if (type === 'DocumentHeld' || type === 'GroupHeld') await this.stoodAside(unitOf(stream), data.hold);
    else if (type === 'DocumentSent') await this.sent(requestIdOfStream(stream));
    else if (type === 'DocumentConcluded')
      await this.run.add({
        ...{ kind: 'end', id: requestIdOfStream(stream), position, event: data },
        at: acceptedBy(data.acceptedAt, event),
      });
    else if (type === 'GroupConcluded') await this.groupEnded(groupIdOfStream(stream), data.outcome, position);
    else if (mayEndHolds(event)) await this.holdsEnded(unitOf(stream), event);
  }

  private async registered(data: Registration, position: bigint, expected: Set<string>): Promise<void> {
    const { claims, named, start } = this.options;
    if (!claims(data.requestId, position)) return;
    const holder = holderOf(data, { position, number: await this.nextNumber() });
    const own = named.get(data.documentSha256) ?? NOTHING;
    const items = own.recalls === undefined ? own : await withRecalled(own, this.options);
    const plain: Plain = { holder: { ...holder, change: items.change ?? null }, named: items, own: [] };
    await this.run.add({ kind: 'register', plain });
    if (position <= start) {
      // Nothing is decided about what the version before planned.
      if (data.after.length > 0) plain.holder.phase = 'waiting';
      return;
    }
    // A member goes with its group.
    if (data.group !== undefined || isPlain(data, expected)) return;
    // It must not be decided with the others: as one that waits it is neither planned nor met there.
    plain.holder.phase = 'deciding';
    await this.run.flush();
    const replaced = data.resendOf === undefined ? [] : [{ old: data.resendOf.requestId, new: data.requestId }];
    await this.decideFirst(plain.holder, data.after, replaced);
    for (const one of data.after) expected.add(one.requestId);
  }

  /** The place of a group and all its members in the order is here. */
  private async groupRegistered(data: GroupRegistered['data'], position: bigint, expected: Set<string>): Promise<void> {
    const { tx, start } = this.options;
    await this.run.flush();
    const { groupId, commandId, account, members, after, resumes, waivesItemWait } = data;
    const group: Holder = {
      ...{ id: groupId, unit: groupId, toldId: groupId, toldCommand: commandId, account, rank: position },
      ...{ number: await this.nextNumber(), rounds: 0, waives: waivesItemWait === true, change: null },
      ...{ isHeld: false, isMoved: false },
      phase: position > start ? 'deciding' : after.length > 0 ? 'waiting' : 'clear',
      firstSend: members[0]?.requestId ?? '',
    };
    const isOld = position <= start && (await holdersOfUnit(tx, groupId)).length === 0;
    if (isOld) return;
    await insertHolders(tx, [group]);
    if (position <= start) return;
    const superseded = members.flatMap(({ supersedes, requestId }) =>
      supersedes === undefined ? [] : [{ old: supersedes.requestId, new: requestId }],
    );
    const replaced = resumes === undefined ? [] : [{ old: resumes.groupId, new: groupId }, ...superseded];
    await this.decideFirst(group, after, replaced);
    for (const one of after) expected.add(one.requestId);
  }

  /** What is decided by the tables when it registers. It stands there already. */
  private async decideFirst(
    unit: Holder,
    after: DocumentReference[],
    replaced: { old: string; new: string }[],
  ): Promise<void> {
    const { tx } = this.options;
    const rank = (await takePlace(tx, replaced)) ?? unit.rank;
    if (rank !== unit.rank) await tx.query('UPDATE claim_holder SET rank = $2 WHERE id = $1', [unit.id, rank]);
    await insertWaits(tx, unit.id, { predecessors: after, isItem: false });
    await this.decide({ ...unit, rank }, after);
  }

  /** Whether a unit goes, waits or is refused, by the claims in the tables. `after`: what it waits for anyway. */
  private async decide(unit: Holder, after: DocumentReference[], by: WaitBasis = 'command') {
    const { tx } = this.options;
    const ids = await this.idsOf(unit);
    // A document whose command says that it comes after this one is no predecessor, whichever came first.
    const met = unit.waives ? [] : await meetingsOf(tx, unit, await comeAfter(tx, ids, by));
    const { ring, predecessors, lifted } = await openRing(tx, ids, { after, met });
    await this.lift(lifted);
    if (ring.length > 0) return this.refuse(unit, ring);
    const missed = await missedBy(tx, unit.id);
    const named = [...missed, ...predecessors].slice(0, MAX_ITEM_PREDECESSORS);
    if (named.length > 0) return this.hold(unit, named);
    if (after.length > 0) return this.waits(unit, 'waiting');
    await removeWaits(tx, [unit.id]);
    await movePhase(tx, unit, 'clear');
    this.planSend(unit, this.cause);
  }

  /** A unit and its members: whoever waits for one of these waits for it. */
  private async idsOf(unit: Holder): Promise<string[]> {
    const members = unit.firstSend === unit.id ? [] : await holdersOfUnit(this.options.tx, unit.id);
    return [unit.id, ...members.map((one) => one.id)];
  }

  /** Has those told that wait no more; one that was not told yet is told first. */
  private async lift(lifted: LiftedWait[]): Promise<void> {
    if (lifted.length === 0) return;
    const units = await holdersById(this.options.tx, [...new Set(lifted.map((one) => one.dependent))]);
    for (const { dependent, predecessor } of lifted) {
      const waiter = units.get(dependent);
      if (waiter !== undefined && wasTold(waiter)) this.tasks.push(liftItemWait(waiter, predecessor, this.place));
    }
  }

  private async refuse(unit: Holder, ring: DocumentReference[]): Promise<void> {
    await movePhase(this.options.tx, unit, 'deciding');
    this.tasks.push(refuseRing(unit, ring, this.place));
  }

  private async hold(unit: Holder, predecessors: ItemPredecessor[]): Promise<void> {
    const { tx } = this.options;
    const waiter = { ...unit, rounds: unit.rounds + 1 };
    await insertWaits(tx, unit.id, { predecessors, isItem: true });
    await this.waits(waiter, 'deciding');
    this.planWait(waiter, predecessors);
  }

  /** Who waits in places for it, or for what waits for it, may have been told before it waited for what is held. */
  private async waits(unit: Holder, phase: 'deciding' | 'waiting'): Promise<void> {
    const { tx } = this.options;
    await movePhase(tx, unit, phase);
    await this.lift(await liftWaitsInPlaces(tx, [unit.id]));
  }

  private planWait(unit: Holder, predecessors: ItemPredecessor[]): void {
    this.tasks.push(waitForItems(unit, predecessors, this.place));
  }

  /** Up to the place in the log where this is decided, the states of its packs must be known when it is sent. */
  private planSend({ account, firstSend: requestId }: Holder, { position, released }: Cause): void {
    const { handledAt: dueAt } = this.options;
    this.tasks.push(firstSend(account, requestId, { dueAt, knownFrom: position, ...released }));
  }

  /** What was lifted before it was told is lifted now. */
  private async told(id: string, { round, for: predecessors }: ItemWait): Promise<void> {
    const { tx } = this.options;
    await this.run.flush();
    const isTold = await movedToWaiting(tx, id, round);
    const lifted = isTold ? await notAwaited(tx, id, predecessors) : [];
    const unit = lifted.length === 0 ? undefined : (await holdersById(tx, [id])).get(id);
    if (unit !== undefined) for (const one of lifted) this.tasks.push(liftItemWait(unit, one, this.place));
  }

  private async stoodAside(id: string, hold: Hold): Promise<void> {
    await this.run.flush();
    await this.lift(await standAside(this.options.tx, id, hold));
    this.notClear.add(id);
    this.held.add(id);
  }

  /** It may wait on, and that for hours: from here on others meet it in its places again, if nothing else holds it. */
  private async holdsEnded(id: string, event: EndOfHolds): Promise<void> {
    const { tx } = this.options;
    const missing = missingIn(event);
    const stuck = stuckIn(event);
    if (!this.held.has(id) && missing.length + stuck.length === 0) return;
    await this.run.flush();
    if (stuck.length > 0) await goAheadOf(tx, id, stuck);
    if (missing.length > 0) await removeWaitsFor(tx, id, missing);
    const ended = endedHolds(event);
    if (isLapse(event)) await endShield(tx, id, ended);
    await endHolds(tx, id, ended);
  }

  /**
   * An earlier attempt had brought there what stands aside, or is to wait: who is decided about from here on waits for
   * it, whatever their places.
   */
  private async sent(id: string): Promise<void> {
    const { tx } = this.options;
    if (!this.notClear.has(id)) return;
    await this.run.flush();
    await stepBack(tx, id);
    await endShield(tx, id);
    await removeWaits(tx, [id]);
  }

  /**
   * Nothing is waited for any more, as far as it was told. Where another wait was decided meanwhile, a task is on its
   * way to tell it.
   */
  private async released(id: string, position: bigint): Promise<void> {
    const { tx, start } = this.options;
    await this.run.flush();
    const unit = (await holdersById(tx, [id])).get(id);
    if (unit === undefined) return;
    await removeWaits(tx, [id], 'after');
    if (unit.isHeld) await endEachHold(tx, id);
    if (unit.phase === 'deciding') return;
    // The version before planned its send with this release.
    if (position <= start) {
      await removeWaits(tx, [id]);
      return movePhase(tx, unit, 'clear');
    }
    // A member was held when its turn had come, and its group claims for it.
    if (unit.unit !== unit.id) return this.planSend(unit, this.cause);
    if (unit.phase === 'at_gate') {
      // Others have gone ahead: it waits for those that are under way, and not for one that waits for it.
      await moveBack(tx, id, position);
      return this.decide({ ...unit, rank: position }, [], 'any wait');
    }
    return this.decide(unit, [], unit.isMoved ? 'any wait' : 'command');
  }

  private async groupEnded(groupId: string, outcome: DocumentOutcome, position: bigint): Promise<void> {
    const { tx } = this.options;
    await this.run.flush();
    if (endedBadly(outcome)) await keepMissedEnd(tx, { id: groupId, unit: groupId, position });
    await removeHolders(tx, await holdersOfUnit(tx, groupId));
    await removeWaits(tx, [groupId]);
  }

  /** A document that claims nothing here, or no more: it is read once more where it changed containment. */
  private async changedLate(event: RecordedEvent & ConclusionRevised): Promise<void> {
    const { data } = event;
    if (!mayChange(data)) return;
    await this.run.flush();
    await changeBy(data, acceptedBy(data.acceptedAt, event), this.options);
  }

  /** A document of others claims nothing. What it packs or opens is known from here on. */
  private async changedByOthers(event: RecordedEvent & InboundConcluded): Promise<void> {
    if (!mayChangeByOthers(event.data)) return;
    await this.run.flush();
    await changeByOthers(event, this.options);
  }

  private async contentTold(event: RecordedEvent & ContainerContentObserved): Promise<void> {
    await this.run.flush();
    await changeByContent(event, this.options);
  }

  private async nextNumber(): Promise<number> {
    this.lastNumber ??= await highestNumber(this.options.tx);
    this.lastNumber += 1;
    return this.lastNumber;
  }
}
