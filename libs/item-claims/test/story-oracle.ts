import {
  isForPredecessor,
  isPlace,
  requestIdOfStream,
  type DocumentOutcome,
  type Hold,
  type Registration,
} from '#domain';
import type { RecordedEvent } from '#event-store';
import { isApplied, type ContainmentChange } from '../src/named-items.js';
import type { GivenDocument } from './item-world.js';
import { isBad, SALE, WHOLE_PLACE, type Story } from './story.js';

/** What the types do to containment. */
const CHANGES: Record<number, ContainmentChange> = {
  ...{ 415: 'taken_out', 431: 'taken_out', [SALE]: 'taken_out', 911: 'packed', 912: 'opened', 913: 'taken_out' },
};
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
export class StoryOracle {
  readonly told = new Map<string, Told>();
  readonly inside = new Map<string, string>();
  /** When what put each item inside was accepted. */
  private readonly since = new Map<string, number>();
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

  private take({ type, stream, data: said, position, recordedAt }: RecordedEvent): void {
    const data = said as unknown as { outcome: DocumentOutcome; documentId: string; hold: Hold; acceptedAt?: string };
    const id = requestIdOfStream(stream);
    const one = this.told.get(id);
    if (type === 'InboundConcluded') this.change(data.documentId, data, recordedAt);
    if (one === undefined) return;
    if (type === 'SendAttempted') one.sentAt = position;
    if (type === 'DocumentHeld') hold(one, data.hold);
    if (type === 'DocumentSent') this.operations.set(data.documentId, one);
    if (type === 'DocumentReleased') one.releasedAt ??= position;
    if (type === 'DocumentConcluded') this.end(one, position, data);
    if (type === 'ConclusionRevised') this.turn(one);
    if (type === 'DocumentConcluded' || type === 'ConclusionRevised') this.change(id, data, recordedAt);
  }

  /** Sentences; none is good. */
  faults(): string[] {
    const sent = [...this.told.values()].filter(({ sentAt }) => sentAt !== undefined);
    const unheard = sent.flatMap((one) =>
      one.failed
        .filter((each) => !this.isHeard(one, each))
        .map((each) => `${one.id} was sent, and nobody decided about the bad end of ${each.id} before it`),
    );
    return [...unheard, ...this.overtaken(sent)];
  }

  private overtaken(sent: Told[]): string[] {
    const { waived } = this.story;
    const at = ({ sentAt }: Told): bigint => sentAt as bigint;
    const isOpenAt = ({ endedAt }: Told, position: bigint): boolean => endedAt === undefined || endedAt > position;
    return sent.flatMap((one) =>
      sent.flatMap((other) => {
        if (one === other || waived.has(one.id) || waived.has(other.id) || !other.met.has(one.id)) return [];
        if (at(one) < at(other) && isOpenAt(one, at(other)))
          return [`${other.id} was sent at ${at(other)}, while ${one.id} was under way`];
        const isOvertaken = one.registeredAt < other.registeredAt && at(other) < at(one);
        return isOvertaken && !this.isMeant(one, other)
          ? [`${other.id} was sent at ${at(other)}, before ${one.id}`]
          : [];
      }),
    );
  }

  /** That the other one goes first. */
  private isMeant(one: Told, other: Told): boolean {
    const { held, lapsed } = this.story;
    const isDecided = held.has(one.id) || lapsed.has(other.id);
    return isDecided || this.comesAfter(one, other) || this.mayBeOvertaken(one, other);
  }

  private end(one: Told, position: bigint, { outcome }: { outcome: DocumentOutcome }): void {
    one.endedAt = position;
    if (isBad(outcome)) this.failed(one, position);
  }

  /** It has ended well after all: who has not been sent yet may hear of that alone. */
  private turn(one: Told): void {
    for (const other of this.told.values())
      if (other.sentAt === undefined) other.failed = other.failed.filter((each) => each !== one);
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
    const { lapsed } = this.story;
    if (one.heldFor.has(failed.id) || lapsed.has(one.id)) return true;
    return [...this.told.values()].some(
      (between) =>
        between.registeredAt > failed.registeredAt &&
        between.registeredAt < one.registeredAt &&
        !lapsed.has(between.id) &&
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

  private change(id: string, data: { outcome: DocumentOutcome; acceptedAt?: string }, recordedAt: Date): void {
    const at = Math.min(Date.parse(data.acceptedAt ?? '2099-01-01'), recordedAt.getTime());
    const { docType = 0, items, into, isRecursive } = this.story.given.get(id) as GivenDocument;
    const kind = CHANGES[docType];
    if (kind === undefined || !isApplied(data, kind)) return;
    const changed = items.filter((item) => this.mayChange(item, at));
    for (const item of changed) {
      if (into === undefined) this.inside.delete(item);
      else this.inside.set(item, into);
      this.since.set(item, at);
    }
    if (kind === 'opened') this.empty(new Set(items), { isRecursive: isRecursive === true, at });
    for (const one of this.told.values()) this.lookAround(one);
  }

  /** Of what lies in nothing it is forgotten when it was taken out. */
  private mayChange(item: string, at: number): boolean {
    return !this.inside.has(item) || (this.since.get(item) as number) <= at;
  }

  private empty(boxes: Set<string>, { isRecursive, at }: { isRecursive: boolean; at: number }): void {
    const out = [...this.inside].filter(([item, box]) => boxes.has(box) && this.mayChange(item, at));
    for (const [item] of out) this.inside.delete(item);
    if (isRecursive && out.length > 0) this.empty(new Set(out.map(([item]) => item)), { isRecursive, at });
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
    const at = this.story.plannedAt.get(other.id) as bigint;
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

function hold(one: Told, by: Hold): void {
  one.wasHeld = true;
  if (isForPredecessor(by)) one.heldFor.add(by.for.requestId);
}
