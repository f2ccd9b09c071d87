import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  gateHoldsIn,
  holdIdOf,
  isForPredecessor,
  isPlace,
  requestIdOfStream,
  type DocumentOutcome,
  type Hold,
  type PlannedTask,
  type Registration,
} from '#domain';
import type { RecordedEvent } from '#event-store';
import { testDatabase } from '../../../test/support/database.js';
import { sized } from '../../../test/support/sized.js';
import { ItemWorld, registryIdOf, type GivenDocument } from '../test/item-world.js';
import { isApplied, type ContainmentChange } from './named-items.js';

/** Repeat a run with PROPERTY_SEED. */
const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_126);
const RUNS = sized({ test: 40, soak: 200 });
const MOST_STEPS = sized({ test: 40, soak: 70 });
const MOST_ROUNDS = 200;

const PACKS = Array.from({ length: 3 }, (_, n) => `04607000000001123456789000${n + 1}`);
const BOXES = ['146070000000000011', '146070000000000022'];
const PLACES = ['00000000000464', '00000000000465', '00000000000466'];
/** What the types do to containment. */
const CHANGES: Record<number, ContainmentChange> = {
  ...{ 415: 'taken_out', 431: 'taken_out', 911: 'packed', 912: 'opened', 913: 'taken_out' },
};
const PACKING = 911;
const OPENING = 912;
/** Of packs, and of all that a place holds. */
const MOVE = 431;
const WHOLE_PLACE = 432;
const RECALL = 250;

interface Doing {
  docType: number;
  items: string[];
  into: string;
  isRecursive: boolean;
  place: string;
  to: string;
}

type Step =
  | ({ do: 'register'; after: number[]; resends: boolean; waives: boolean } & Doing)
  | ({ do: 'others' } & Doing)
  | { do: 'send'; which: number }
  | { do: 'answer'; which: number; outcome: DocumentOutcome | 'missed' }
  | { do: 'revise'; which: number }
  | { do: 'hold'; which: number }
  | { do: 'waive'; which: number }
  | { do: 'follow'; batchSize: number; crashes: number }
  | { do: 'work'; most: number };

const which = fc.nat(40);
const doing = {
  docType: fc.constantFrom(415, PACKING, PACKING, OPENING, 913, MOVE, MOVE, WHOLE_PLACE, RECALL),
  items: fc.uniqueArray(fc.constantFrom(...PACKS, ...BOXES), { minLength: 1, maxLength: 3 }),
  into: fc.constantFrom(...BOXES),
  isRecursive: fc.boolean(),
  place: fc.constantFrom(...PLACES),
  to: fc.constantFrom(...PLACES),
};
const outcome = fc.constantFrom('accepted' as const, 'accepted', 'partial', 'rejected', 'failed', 'missed');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      ...{ do: fc.constant('register' as const), ...doing, resends: fc.boolean() },
      // Behind: those before it, and those that have not registered yet.
      after: fc.uniqueArray(fc.integer({ min: -3, max: 2 }), { maxLength: 2 }),
      waives: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('others' as const), ...doing }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('send' as const), which }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('answer' as const), which, outcome }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('revise' as const, 'hold', 'waive'), which }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('follow' as const),
      batchSize: fc.constantFrom(1, 3, 500),
      crashes: fc.constantFrom(0, 0, 0, 1),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('work' as const), most: fc.integer({ min: 1, max: 5 }) }) },
);

const isBad = (ended: string | undefined): boolean => ended === 'rejected' || ended === 'failed';

/** Does what the steps say, as far as it can be done where the world stands. */
class Story {
  private registered = 0;
  private othersTold = 0;
  /** Sends that are planned: a busy lane runs them whenever it comes to them. */
  private readonly sends: Pick<PlannedTask<'send'>, 'key' | 'payload'>[] = [];
  /** Ends that those who wait have not heard of. */
  private readonly toTell: [string, DocumentOutcome][] = [];
  readonly replacedBy = new Map<string, string>();
  /** The log position by which each was planned that was sent last. */
  readonly plannedAt = new Map<string, bigint>();
  /** By id, those of others too. */
  readonly given = new Map<string, GivenDocument>();
  readonly waived = new Set<string>();
  readonly held = new Set<string>();
  /** Sentences; none is good. */
  readonly stalled: string[] = [];

  constructor(readonly world: ItemWorld) {
    world.onSend = (task) => this.sends.push(task);
    world.ended = (id, ended) => this.toTell.push([id, ended]);
  }

  async take(one: Step): Promise<void> {
    const { world } = this;
    if (one.do === 'register') await this.register(one);
    else if (one.do === 'others') await this.others(one);
    else if (one.do === 'send') await this.send(one.which);
    else if (one.do === 'answer') await this.answer(one.which, one.outcome);
    else if (one.do === 'revise') await this.revise(one.which);
    else if (one.do === 'hold') await this.hold(one.which);
    else if (one.do === 'waive') await this.waive(this.ids().filter((_, n) => n % 3 === one.which % 3));
    else if (one.do === 'follow') {
      world.crashes = one.crashes;
      await world.catchUp(one.batchSize);
      world.crashes = 0;
    } else if (one.do === 'work') await world.runTasks((n) => n < one.most);
    await this.tellThose();
  }

  /** Until all has ended: those that are named and missing register, what holds is waived, and what is sent arrives. */
  async end(): Promise<void> {
    const last = this.registered + 3;
    while (this.registered < last)
      await this.take({
        ...{ do: 'register', docType: 415, items: [PACKS[0] as string], into: '', isRecursive: false },
        ...{ place: PLACES[0] as string, to: PLACES[1] as string },
        ...{ after: [], resends: false, waives: false },
      });
    for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
      await this.world.settle();
      this.stalled.push(...this.waitForHeld());
      await this.tellThose();
      const open = this.ids().filter((id) => this.world.state(id).phase !== 'concluded');
      if (open.length === 0 && this.world.tasks.size === 0) return this.world.settle();
      await this.waive(open, (hold) => !this.isResentAndOpen(hold));
      await this.send(0);
      await this.answer(0, 'accepted');
      await this.tellThose();
    }
    const stuck = this.ids().flatMap((id) => {
      const state = this.world.state(id);
      return state.phase === 'concluded' ? [] : [`${id} ${JSON.stringify(state)}`];
    });
    throw new Error(`it never ends: ${stuck.join('\n')}`);
  }

  /** A bad end whose resend is under way, or will be: nobody decides about it, for that end may yet be a good one. */
  private isResentAndOpen(hold: Hold): boolean {
    if (!isForPredecessor(hold)) return false;
    for (let id = this.replacedBy.get(hold.for.requestId); id !== undefined; id = this.replacedBy.get(id))
      if (this.world.state(id).phase !== 'concluded') return true;
    return false;
  }

  /** Whoever waits in places alone for what is held, or waits for such, when nothing is left to do. */
  private waitForHeld(): string[] {
    return this.ids().flatMap((id) => {
      const state = this.world.state(id);
      const waitingFor = state.phase === 'waiting' ? state.waitingFor : [];
      return waitingFor
        .filter((one) => 'items' in one && one.items.every(isPlace) && this.isStuck(one.requestId))
        .map((one) => `${id} waits for ${one.requestId}, which is held, or waits for such`);
    });
  }

  private isStuck(id: string): boolean {
    const state = this.world.state(id);
    if (state.phase !== 'waiting') return false;
    return state.holds.length > 0 || state.waitingFor.some((one) => this.isStuck(one.requestId));
  }

  ids(): string[] {
    return [...this.world.states.keys()];
  }

  private async register(one: Extract<Step, { do: 'register' }>): Promise<void> {
    const { world } = this;
    const id = `d${this.registered}`;
    const resendOf = one.resends ? this.ids().find((old) => this.mayBeReplaced(old)) : undefined;
    if (resendOf !== undefined) this.replacedBy.set(resendOf, id);
    const after = one.after.map((n) => this.registered + (n >= 0 ? n + 1 : n)).filter((n) => n >= 0);
    this.registered += 1;
    if (one.waives || resendOf !== undefined) this.waived.add(id);
    const document = { ...given(one), ...(one.docType === RECALL ? { recalls: this.operation(one) } : {}) };
    this.given.set(id, document);
    await world.register(id, {
      ...document,
      after: resendOf === undefined ? after.map((n) => `d${n}`) : [],
      ...(resendOf === undefined ? {} : { resendOf }),
      ...(one.waives ? { waives: true } : {}),
    });
    for (const n of after) {
      const earlier = world.state(`d${n}`);
      if (earlier.phase === 'concluded')
        await world.execute(id, { type: 'NotePredecessor', requestId: `d${n}`, outcome: earlier.outcome });
    }
  }

  private async others(one: Doing): Promise<void> {
    const id = `theirs-${(this.othersTold += 1)}`;
    const document = given(one);
    this.given.set(id, document);
    await this.world.others(id, document);
  }

  /** A move that is there, where there is one, by one id or the other. */
  private operation({ isRecursive }: Doing): string {
    const id = [...this.given].findLast(([, { docType }]) => docType === MOVE)?.[0] ?? 'unknown';
    return isRecursive ? id : registryIdOf(id);
  }

  private mayBeReplaced(id: string): boolean {
    const state = this.world.state(id);
    return state.phase === 'concluded' && isBad(state.outcome) && state.cause === undefined && !this.replacedBy.has(id);
  }

  private async send(n: number): Promise<void> {
    const [task] = this.sends.splice(n % Math.max(1, this.sends.length), 1);
    if (task === undefined) return;
    const { requestId, knownFrom } = task.payload;
    const isBegun = await this.world.begin(requestId, gateHoldsIn(task.key));
    if (isBegun) this.plannedAt.set(requestId, BigInt(knownFrom ?? 0));
  }

  private async answer(n: number, ended: DocumentOutcome | 'missed'): Promise<void> {
    const sending = this.ids().filter((id) => this.world.state(id).phase === 'sending');
    const id = sending[n % Math.max(1, sending.length)];
    if (id === undefined) return;
    if (ended !== 'missed') return this.world.answer(id, ended);
    await this.world.miss(id);
    const state = this.world.state(id);
    if (state.phase !== 'ready') throw new Error(`${id} is ${state.phase}`);
    const { attempt } = state.send;
    const knownFrom = String(this.plannedAt.get(id));
    this.sends.push({ key: `send:${id}:${attempt}`, payload: { requestId: id, account: 'main', attempt, knownFrom } });
  }

  private async revise(n: number): Promise<void> {
    const failed = this.ids().filter((id) => {
      const state = this.world.state(id);
      return state.phase === 'concluded' && state.outcome === 'failed' && state.documentId !== undefined;
    });
    const id = failed[n % Math.max(1, failed.length)];
    if (id !== undefined) await this.world.revise(id, n % 2 === 0 ? 'accepted' : 'partial');
  }

  private async hold(n: number): Promise<void> {
    const open = this.ids().filter((one) => this.world.state(one).phase !== 'concluded');
    const id = open[n % Math.max(1, open.length)];
    if (id === undefined) return;
    this.held.add(id);
    await this.world.execute(id, { type: 'HoldByPerson', by: 'anna', reason: 'quality looks' });
  }

  private async waive(ids: string[], isMeant: (hold: Hold) => boolean = () => true): Promise<void> {
    for (const id of ids) {
      const state = this.world.state(id);
      const holds = ('holds' in state ? state.holds : []).filter(isMeant);
      if (holds.length > 0)
        await this.world.execute(id, { type: 'WaiveHolds', predecessors: holds.map((one) => holdIdOf(one)) });
    }
  }

  /** Those refused for a ring end without an answer of the registry. */
  private async tellThose(): Promise<void> {
    for (let one = this.toTell.shift(); one !== undefined; one = this.toTell.shift()) await this.world.tell(...one);
  }
}

const given = ({ docType, items, into, isRecursive, place, to }: Doing): GivenDocument => ({
  ...{ docType, place, ...(docType === MOVE || docType === WHOLE_PLACE ? { to } : {}) },
  items:
    docType === PACKING
      ? items.filter((item) => item !== into).concat(items.length > 1 ? [] : (PACKS[0] as string))
      : docType === WHOLE_PLACE || docType === RECALL
        ? []
        : items,
  ...(docType === PACKING ? { into } : {}),
  ...(docType === OPENING && isRecursive ? { isRecursive } : {}),
});

/** A document of ours, as the log tells of it. */
interface Told {
  id: string;
  registeredAt: bigint;
  /** Its items, and the places of which it moves all. */
  named: Set<string>;
  /** Its places, and containers that were around its items at any time since it registered. */
  around: Set<string>;
  places: string[];
  /** Whom it concerned when it was planned. */
  met: Set<string>;
  after: string[];
  /** Those of its packs that ended badly before it was sent, and came before it. */
  failed: Told[];
  /** For whose bad end it was held. */
  heldFor: Set<string>;
  releasedAt?: bigint;
  wasHeld?: true;
  /** Of its last attempt. */
  sentAt?: bigint;
  endedAt?: bigint;
}

/** The rules, written as plainly as can be, over the log: pairs of documents of the same items, one by one. */
class Oracle {
  readonly told = new Map<string, Told>();
  readonly inside = new Map<string, string>();
  /** By which ids each document could be named, once it had them. */
  private readonly operations = new Map<string, Told>();

  constructor(private readonly story: Story) {}

  async read(): Promise<void> {
    const planned = [...this.story.plannedAt];
    for (const event of await this.story.world.events()) {
      const { type, data, position } = event;
      if (type === 'DocumentRegistered') this.register(data as unknown as Registration, position);
      this.take(event);
      for (const [id, at] of planned) if (at === position) this.meetAll(this.told.get(id) as Told);
    }
  }

  private take({ type, stream, data: said, position }: RecordedEvent): void {
    const data = said as { outcome: DocumentOutcome; documentId: string; hold: Hold };
    const id = requestIdOfStream(stream);
    const one = this.told.get(id);
    if (type === 'InboundConcluded') this.change(data.documentId, data);
    if (one === undefined) return;
    if (type === 'SendAttempted') one.sentAt = position;
    if (type === 'DocumentHeld') one.wasHeld = true;
    if (type === 'DocumentHeld' && isForPredecessor(data.hold)) one.heldFor.add(data.hold.for.requestId);
    if (type === 'DocumentSent') this.operations.set(data.documentId, one);
    if (type === 'DocumentReleased') one.releasedAt ??= position;
    if (type === 'DocumentConcluded') one.endedAt = position;
    if (type === 'DocumentConcluded' && isBad(data.outcome)) this.failed(one, position);
    if (type === 'DocumentConcluded' || type === 'ConclusionRevised') this.change(id, data);
  }

  /** Sentences; none is good. */
  faults(): string[] {
    const { waived, held } = this.story;
    const sent = [...this.told.values()].filter(({ sentAt }) => sentAt !== undefined);
    const unheard = sent.flatMap((one) =>
      one.failed
        .filter((each) => !this.isHeard(one, each))
        .map((each) => `${one.id} was sent, and nobody decided about the bad end of ${each.id} before it`),
    );
    return [...unheard, ...this.overtaken(sent, { waived, held })];
  }

  private overtaken(sent: Told[], { waived, held }: Pick<Story, 'waived' | 'held'>): string[] {
    const at = ({ sentAt }: Told): bigint => sentAt as bigint;
    const isOpenAt = ({ endedAt }: Told, position: bigint): boolean => endedAt === undefined || endedAt > position;
    return sent.flatMap((one) =>
      sent.flatMap((other) => {
        if (one === other || waived.has(one.id) || waived.has(other.id) || !other.met.has(one.id)) return [];
        if (at(one) < at(other) && isOpenAt(one, at(other)))
          return [`${other.id} was sent at ${at(other)}, while ${one.id} was under way`];
        const isOvertaken = one.registeredAt < other.registeredAt && at(other) < at(one);
        const isMeant = held.has(one.id) || this.comesAfter(one, other) || this.mayBeOvertaken(one, other);
        return isOvertaken && !isMeant ? [`${other.id} was sent at ${at(other)}, before ${one.id}`] : [];
      }),
    );
  }

  /** Whoever waits behind it for its packs hears of it, or waits for one that does. */
  private failed(one: Told, position: bigint): void {
    const { waived, held, replacedBy } = this.story;
    if (held.has(one.id) || replacedBy.has(one.id)) return;
    for (const other of this.told.values()) {
      const waits = other.sentAt === undefined && other.endedAt === undefined && other.registeredAt > one.registeredAt;
      const isMeant = waits && !waived.has(other.id) && !held.has(other.id) && this.shareItems(one, other);
      const mayMiss = this.comesAfter(one, other) || this.mayGoAhead(one, position);
      if (isMeant && !mayMiss) other.failed.push(one);
    }
  }

  private isHeard(one: Told, failed: Told): boolean {
    if (one.heldFor.has(failed.id)) return true;
    return [...this.told.values()].some(
      (between) =>
        between.registeredAt > failed.registeredAt &&
        between.registeredAt < one.registeredAt &&
        this.shareItems(one, between) &&
        this.isHeard(between, failed),
    );
  }

  private register({ requestId, after }: Registration, position: bigint): void {
    const { docType, items, into, place, to, recalls } = this.story.given.get(requestId) as GivenDocument;
    const places = [place, to].filter((one) => one !== undefined);
    const isWhole = docType === WHOLE_PLACE;
    const recalled = recalls === undefined ? undefined : this.operations.get(recalls);
    const named = new Set([...items, ...(into === undefined ? [] : [into]), ...(isWhole ? places : [])]);
    for (const item of recalled?.named ?? []) named.add(item);
    const around = new Set([...(isWhole ? [] : places), ...(recalled?.places ?? [])]);
    const told = { ...{ id: requestId, registeredAt: position, named, places }, around, met: new Set<string>() };
    const heard = { failed: [], heldFor: new Set<string>() };
    this.told.set(requestId, { ...told, ...heard, after: after.map((one) => one.requestId) });
    this.operations.set(requestId, this.told.get(requestId) as Told);
    this.lookAround(this.told.get(requestId) as Told);
  }

  private lookAround({ named, around }: Told): void {
    for (const item of named) {
      const seen = new Set<string>();
      for (let box = this.inside.get(item); box !== undefined && !seen.has(box); box = this.inside.get(box))
        seen.add(box);
      for (const box of seen) around.add(box);
    }
  }

  private change(id: string, data: { outcome: DocumentOutcome }): void {
    const { docType = 0, items, into, isRecursive } = this.story.given.get(id) as GivenDocument;
    const kind = CHANGES[docType];
    if (kind === undefined || !isApplied(data, kind)) return;
    if (into !== undefined) for (const item of items) this.inside.set(item, into);
    else for (const item of items) this.inside.delete(item);
    if (kind === 'opened') this.empty(new Set(items), isRecursive === true);
    for (const one of this.told.values()) this.lookAround(one);
  }

  private empty(boxes: Set<string>, isRecursive: boolean): void {
    const out = [...this.inside].filter(([, box]) => boxes.has(box)).map(([item]) => item);
    for (const item of out) this.inside.delete(item);
    if (isRecursive && out.length > 0) this.empty(new Set(out), true);
  }

  private meetAll(one: Told): void {
    for (const other of this.told.values()) if (this.meet(one, other)) one.met.add(other.id);
  }

  private meet(one: Told, other: Told): boolean {
    const touches = (a: Told, b: Told): boolean => [...a.named].some((item) => b.named.has(item) || b.around.has(item));
    return touches(one, other) || touches(other, one);
  }

  /**
   * Where a command comes after one that registers later there may be a ring. In it nobody waits for a document that
   * may come after another that has not registered: and that is so until it is released, whatever it came after.
   */
  private mayGoAhead(one: Told, position: bigint): boolean {
    const all = [...this.told.values()];
    const isOfLater = (told: Told): boolean =>
      all.some((other) => other.registeredAt > told.registeredAt && this.comesAfter(told, other));
    const isOpen = one.after.length > 0 && (one.releasedAt === undefined || one.releasedAt > position);
    return isOfLater(one) || (isOpen && all.some((other) => isOfLater(other)));
  }

  /**
   * By one of the same packs in a ring of commands and packs alone: for the sake of a place none goes ahead of another.
   * By another one also where what it may wait for may be overtaken, or was held.
   */
  private mayBeOvertaken(one: Told, other: Told): boolean {
    const at = other.sentAt as bigint;
    if (this.shareItems(one, other)) return this.mayGoAhead(one, at) && this.mayWaitFor(one, other).has(other);
    return [...this.mayWaitFor(one)].some((each) => each.wasHeld === true || this.mayGoAhead(each, at));
  }

  /** By more than their places. */
  private shareItems(one: Told, other: Told): boolean {
    const touches = (a: Told, b: Told): boolean =>
      [...a.named].some((item) => !isPlace(item) && (b.named.has(item) || b.around.has(item)));
    return touches(one, other) || touches(other, one);
  }

  /** Itself, and those for whom it may wait, over steps of `after` and of packs, the first not `skipped`. */
  private mayWaitFor(one: Told, skipped?: Told): Set<Told> {
    const found = new Set([one]);
    for (const from of found)
      for (const to of this.told.values())
        if (!(from === one && to === skipped) && this.mayWait(from, to)) found.add(to);
    return found;
  }

  /** What was held may have gone behind the others. */
  private mayWait(one: Told, other: Told): boolean {
    const isBefore = other.registeredAt < one.registeredAt || this.story.held.has(one.id);
    return one.after.includes(other.id) || (isBefore && this.shareItems(one, other));
  }

  private comesAfter(one: Told, other: Told, seen = new Set<string>()): boolean {
    return one.after.some((id) => {
      if (id === other.id) return true;
      const between = this.told.get(id);
      if (between === undefined || seen.has(id)) return false;
      seen.add(id);
      return this.comesAfter(between, other, seen);
    });
  }
}

const registering = {
  ...{ do: 'register' as const, docType: 415, items: [PACKS[0] as string], into: BOXES[0] as string },
  ...{ isRecursive: false, resends: false, after: [], waives: false, place: PLACES[0] as string },
  to: PLACES[1] as string,
};
/** What was held comes back behind documents that wait for one that comes after it: it goes, and is not refused. */
const HELD_IN_A_CHAIN: Step[] = [
  registering,
  { do: 'follow', batchSize: 1, crashes: 0 },
  { do: 'send', which: 0 },
  { do: 'answer', which: 0, outcome: 'missed' },
  { ...registering, after: [1, -1] },
  { do: 'follow', batchSize: 500, crashes: 0 },
  { do: 'hold', which: 0 },
  { ...registering, docType: PACKING, items: PACKS.slice(0, 2), after: [-1] },
  { do: 'send', which: 0 },
  { do: 'work', most: 4 },
];

/** A resend is held, while another one is held for what it replaces: it goes first all the same. */
const HELD_RESEND: Step[] = [
  registering,
  { do: 'follow', batchSize: 500, crashes: 0 },
  registering,
  { do: 'follow', batchSize: 500, crashes: 0 },
  { do: 'work', most: 5 },
  { do: 'send', which: 0 },
  { do: 'answer', which: 0, outcome: 'rejected' },
  { do: 'follow', batchSize: 500, crashes: 0 },
  { ...registering, resends: true },
  { do: 'follow', batchSize: 500, crashes: 0 },
  { do: 'hold', which: 1 },
];
const settling: Step[] = [
  { do: 'follow', batchSize: 500, crashes: 0 },
  { do: 'work', most: 5 },
];
/** A move of a whole place lies in a ring with a chain, and behind that is another document of its packs. */
const RING_BY_PLACE: Step[] = [
  ...[{ ...registering, after: [2] }, ...settling, registering, ...settling],
  ...[{ ...registering, docType: WHOLE_PLACE }, ...settling, { ...registering, items: PACKS.slice(1, 2) }, ...settling],
];

/** A move waits for a document, and that comes to wait for what is held by a link that registers late. */
const LATE_LINK: Step[] = [
  ...[registering, ...settling, registering, ...settling],
  { do: 'send', which: 0 },
  { do: 'answer', which: 0, outcome: 'rejected' },
  ...settling,
  ...[{ ...registering, items: PACKS.slice(1, 2), after: [1] }, ...settling],
  ...[{ ...registering, docType: WHOLE_PLACE }, ...settling],
  ...[{ ...registering, place: PLACES[2] as string }, ...settling],
];

describe(`stories of documents about the same items (seed ${SEED}; repeat with PROPERTY_SEED)`, () => {
  it('end, one of them under way at a time, in their order, and containment is known', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: MOST_STEPS }), async (steps) => {
        const db = await testDatabase(ItemWorld.schemas);
        const world = await ItemWorld.open(db.pool);
        try {
          const story = new Story(world);
          for (const one of steps) await story.take(one);
          await story.end();
          const oracle = new Oracle(story);
          await oracle.read();
          expect([...oracle.faults(), ...story.stalled]).toEqual([]);
          const { rows } = await db.pool.query<{ child: string; parent: string }>(
            'SELECT child, parent FROM item_container',
          );
          const inside = Object.fromEntries(rows.map(({ child, parent }) => [child, parent]));
          expect(inside).toEqual(Object.fromEntries(oracle.inside));
          const left = ['claim_holder', 'item_claim', 'item_wait'].map((table) => world.rows(table));
          expect(await Promise.all(left)).toEqual([0, 0, 0]);
        } finally {
          await world.close();
          await db.drop();
        }
      }),
      { seed: SEED, numRuns: RUNS, examples: [[HELD_IN_A_CHAIN], [HELD_RESEND], [RING_BY_PLACE], [LATE_LINK]] },
    );
  }, 600_000);
});
