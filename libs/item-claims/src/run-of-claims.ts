import { endedBadly, type DocumentConcluded, type ItemPredecessor } from '#domain';
import { ClaimBook, predecessorsIn, type OwnClaim } from './claim-book.js';
import { changeByClaims, type EndedHolder, type Instant } from './containment.js';
import {
  claimsOn,
  containersAround,
  holdersById,
  insertClaims,
  insertHolders,
  removeHolders,
  type Holder,
} from './holders.js';
import { changeBy, mayChange } from './late-changes.js';
import { keepMissedEnd } from './missed-ends.js';
import { isApplied, packs, type ContainmentChange, type NamedItems } from './named-items.js';
import type { PageOptions } from './read-page.js';
import { insertWaits, liftWaitsInPlaces, removeWaits, type LiftedWait } from './waits.js';

/** A registration that waits for nobody but by its items; those of a run are decided together, in memory. */
export interface Plain {
  holder: Holder;
  named: NamedItems;
  own: OwnClaim[];
}

type Step =
  | { kind: 'register'; plain: Plain }
  | { kind: 'end'; id: string; position: bigint; at: Instant; event: DocumentConcluded['data'] };

/** Plans what follows for a holder: its send, or that it is told for whom it waits, or waits no more. */
interface Plans {
  send(holder: Holder): void;
  wait(holder: Holder, predecessors: ItemPredecessor[]): void;
  lift(lifted: LiftedWait[]): Promise<void>;
}

/** A run of plain registrations and ends: worked in memory, then in the tables, by a few statements for them all. */
export class RunOfClaims {
  private steps: Step[] = [];
  private hasPacked = false;

  constructor(
    private readonly options: PageOptions,
    private readonly plan: Plans,
  ) {}

  /** A packing that ended is worked before what registers next: who claims what it packed claims the container too. */
  async add(step: Step): Promise<void> {
    if (step.kind === 'register' && this.hasPacked) await this.flush();
    if (step.kind === 'end') this.hasPacked ||= packs(step.event.docType) && isApplied(step.event, 'packed');
    this.steps.push(step);
  }

  /** Works what was added since the last time. */
  async flush(): Promise<void> {
    const steps = this.steps;
    this.steps = [];
    this.hasPacked = false;
    if (steps.length === 0) return;
    const { tx } = this.options;
    const plain = steps.flatMap((step) => (step.kind === 'register' ? [step.plain] : []));
    const book = await this.bookFor(plain);
    const ends = steps.flatMap((step) => (step.kind === 'end' ? [step.id] : []));
    const ended = await holdersById(tx, ends);
    const waits: { unit: Holder; predecessors: ItemPredecessor[] }[] = [];
    for (const step of steps) {
      if (step.kind === 'end') leave(book, ended.get(step.id));
      else {
        ended.set(step.plain.holder.id, step.plain.holder);
        const predecessors = this.decide(book, step.plain);
        if (predecessors.length > 0) waits.push({ unit: step.plain.holder, predecessors });
      }
    }
    await insertHolders(
      tx,
      plain.map((one) => one.holder),
    );
    await insertClaims(tx, plain);
    for (const { unit, predecessors } of waits) await insertWaits(tx, unit.id, { predecessors, isItem: true });
    // A move of this run has met all of it. It is not told yet, and hears when it is.
    if (plain.some((one) => one.named.isWholePlace)) {
      const waiters = waits.map((one) => one.unit.id);
      await this.plan.lift(await liftWaitsInPlaces(tx, waiters));
    }
    await this.end(steps, ended);
  }

  /** What the tables know about the items of these, and the containers around them. */
  private async bookFor(plain: Plain[]): Promise<ClaimBook> {
    const { tx } = this.options;
    const items = new Set<string>();
    for (const one of plain) for (const { item, parent } of one.named.items) items.add(item).add(parent ?? item);
    const named = [...items];
    const book = new ClaimBook(named.length === 0 ? [] : await containersAround(tx, named));
    for (const one of plain) one.own = book.claimsOf(one.named);
    const claimed = { exclusive: new Set<string>(), intended: new Set<string>() };
    for (const { item, isExclusive } of plain.flatMap((one) => one.own))
      claimed[isExclusive ? 'exclusive' : 'intended'].add(item);
    book.know(await claimsOn(tx, [...claimed.exclusive], [...claimed.intended]));
    return book;
  }

  /** Whom a plain registration waits for. Where it waits for no one, its send is planned. */
  private decide(book: ClaimBook, { holder, own }: Plain): ItemPredecessor[] {
    const { id, number, unit, toldId, toldCommand, rank } = holder;
    // A member's claims count from the registration of its group on.
    const isMember = unit !== id;
    const isDecided = !isMember && holder.phase === 'clear' && rank > this.options.start;
    const predecessors = isDecided && !holder.waives ? predecessorsIn(book.meetings(unit, own)) : [];
    if (!isMember) book.enter({ holder: number, unit, told: { commandId: toldCommand, requestId: toldId } }, own);
    if (!isDecided) return [];
    if (predecessors.length === 0) this.plan.send(holder);
    else {
      holder.phase = 'deciding';
      holder.rounds = 1;
      this.plan.wait(holder, predecessors);
    }
    return predecessors;
  }

  /**
   * In order: what a document did to containment, then its claims go. A part of a split document keeps them. A bad end
   * is looked at while its claims are there and those of the ends before it are not.
   */
  private async end(steps: Step[], holders: Map<string, Holder>): Promise<void> {
    const { tx } = this.options;
    let run: { change: ContainmentChange; ended: EndedHolder[] } | undefined;
    let freed: Holder[] = [];
    const write = async (): Promise<void> => {
      if (run !== undefined) await changeByClaims(tx, run.change, run.ended);
      run = undefined;
    };
    const free = async (): Promise<void> => {
      await write();
      await removeHolders(tx, freed);
      const ids = freed.map((one) => one.id);
      await removeWaits(tx, ids);
      freed = [];
    };
    for (const step of steps) {
      if (step.kind !== 'end') continue;
      const { id, position, at, event } = step;
      const holder = holders.get(id);
      if (holder === undefined) {
        await write();
        if (mayChange(event)) await changeBy(event, at, this.options);
        continue;
      }
      if (holder.toldId === id) {
        if (endedBadly(event.outcome)) {
          await free();
          await keepMissedEnd(tx, { id, unit: holder.unit, position });
        }
        freed.push(holder);
      }
      const { change } = holder;
      if (change === null || !isApplied(event, change)) continue;
      if (run?.change !== change) await write();
      run ??= { change, ended: [] };
      run.ended.push({ number: holder.number, at });
    }
    await free();
  }
}

function leave(book: ClaimBook, holder: Holder | undefined): void {
  if (holder !== undefined && holder.toldId === holder.id) book.leave(holder.number);
}
