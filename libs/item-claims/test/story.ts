import fc from 'fast-check';
import {
  gateHoldsIn,
  holdIdOf,
  isForPredecessor,
  isPlace,
  type DocumentOutcome,
  type Hold,
  type PlannedTask,
} from '#domain';
import { stuckAmong } from '../src/waits.js';
import { registryIdOf, type GivenDocument, type ItemWorld } from './item-world.js';
import { METADATA } from './recordable.js';

const MOST_ROUNDS = 200;

export const PACKS = Array.from({ length: 3 }, (_, n) => `04607000000001123456789000${n + 1}`);
export const BOXES = ['146070000000000011', '146070000000000022'];
export const PLACES = ['00000000000464', '00000000000465', '00000000000466'];
export const PACKING = 911;
const OPENING = 912;
/** Of packs, and of all that a place holds. */
const MOVE = 431;
export const WHOLE_PLACE = 432;
const RECALL = 250;
/** A report of an accomplished fact. */
export const SALE = 511;

interface Doing {
  docType: number;
  items: string[];
  into: string;
  isRecursive: boolean;
  place: string;
  to: string;
}

export type Step =
  | ({ do: 'register'; after: number[]; resends: boolean; waives: boolean } & Doing)
  | ({ do: 'others'; daysAgo: number } & Doing)
  | { do: 'send'; which: number }
  | { do: 'answer'; which: number; outcome: DocumentOutcome | 'missed' }
  | { do: 'revise'; which: number }
  | { do: 'hold'; which: number }
  | { do: 'lapse' }
  | { do: 'waive'; which: number }
  | { do: 'follow'; batchSize: number; crashes: number }
  | { do: 'work'; most: number };

const which = fc.nat(40);
const doing = {
  docType: fc.constantFrom(415, SALE, PACKING, PACKING, OPENING, 913, MOVE, MOVE, WHOLE_PLACE, RECALL),
  items: fc.uniqueArray(fc.constantFrom(...PACKS, ...BOXES), { minLength: 1, maxLength: 3 }),
  into: fc.constantFrom(...BOXES),
  isRecursive: fc.boolean(),
  place: fc.constantFrom(...PLACES),
  to: fc.constantFrom(...PLACES),
};
const outcome = fc.constantFrom('accepted' as const, 'accepted', 'partial', 'rejected', 'failed', 'missed');
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      ...{ do: fc.constant('register' as const), ...doing, resends: fc.boolean() },
      // Behind: those before it, and those that have not registered yet.
      after: fc.uniqueArray(fc.integer({ min: -3, max: 2 }), { maxLength: 2 }),
      waives: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('others' as const), ...doing, daysAgo: fc.constantFrom(0, 0, 1, 2) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('send' as const), which }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('answer' as const), which, outcome }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('revise' as const, 'hold', 'waive'), which }) },
  { weight: 1, arbitrary: fc.constant({ do: 'lapse' as const }) },
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

/** Before all that happens in a story; 0: when it is heard of. */
const daysAgo = (days: number): string | undefined =>
  days === 0 ? undefined : new Date(Date.parse(METADATA.effectiveAt) - days * 86_400_000).toISOString();

export const isBad = (ended: string | undefined): boolean => ended === 'rejected' || ended === 'failed';

/** Does what the steps say, as far as it can be done where the world stands. */
export class Story {
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
  /** Sales that wait no longer for a person. */
  readonly lapsed = new Set<string>();
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
    else if (one.do === 'lapse') await this.lapse();
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
    let before = '';
    for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
      await this.world.settle();
      this.stalled.push(...this.waitForHeld());
      await this.tellThose();
      const open = this.ids().filter((id) => this.world.state(id).phase !== 'concluded');
      if (open.length === 0 && this.world.tasks.size === 0) return this.world.settle();
      // Where the resend waits for what is held for the bad end, somebody has to decide all the same.
      const standing = open.join(' ');
      await this.waive(open, (hold) => standing === before || !this.isResentAndOpen(hold));
      before = standing;
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

  private async others(one: Extract<Step, { do: 'others' }>): Promise<void> {
    const id = `theirs-${(this.othersTold += 1)}`;
    const document = given(one);
    this.given.set(id, document);
    await this.world.others(id, document, daysAgo(one.daysAgo));
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

  /** The time of all sales is up. */
  private async lapse(): Promise<void> {
    for (const id of this.ids()) {
      const state = this.world.state(id);
      if (state.phase !== 'waiting') continue;
      const named = state.waitingFor.flatMap((one) => ('items' in one ? [one.requestId] : []));
      const stuck = await stuckAmong(this.world.pool, named);
      if (await this.world.execute(id, { type: 'LapseHolds', stuck })) this.lapsed.add(id);
    }
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
