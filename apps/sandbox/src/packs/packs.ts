import { isSgtin, splitSgtin, type Sgtin, type Sscc } from '#kernel';
import { Archive } from '../archive/archive.js';
import { hasSameStatus, PackIndex } from '../registries/pack-index.js';
import { StorageLedger } from '../registries/storage-ledger.js';
import { Suspensions, type Decision } from '../suspensions/suspensions.js';
import type { RegistryDocument } from '../documents/document.js';
import type { Change, Container, Content, PackState, Trail } from './pack.js';
import { freed, isTouchedBy, Stamps, undoingOf, type Undoing } from './trail.js';
import type { Participant, World } from './world.js';

export type { Change, Container, Content, PackState, Trail, Transfer } from './pack.js';

const MAX_DEPTH = 10;

/** A pack of a standing consignment. */
interface Standing {
  state: PackState;
  series: string;
}

/**
 * The state of every pack and container that was ever named; a pack of a standing consignment exists as soon as it is.
 */
export class PackStore {
  /** Touched packs in columns; lists are answered from it. */
  readonly index = new PackIndex();
  readonly storage = new StorageLedger();
  readonly suspensions = new Suspensions();
  private readonly archive = new Archive(this.index);
  private readonly stamps = new Stamps();
  private readonly numbers = new Map<Sgtin, number>();
  private readonly units = new Map<Sscc, Container>();
  private readonly standingStates = new Map<string, PackState>();
  private readonly series = new Map<string, string>();
  private readonly serial: RegExp;
  private lastStanding: { sgtin: Sgtin; found: Standing | undefined } | undefined;

  constructor(private readonly world: World) {
    this.serial = new RegExp(world.standing.serial);
  }

  get packCount(): number {
    return this.numbers.size;
  }

  get containerCount(): number {
    return this.units.size;
  }

  /** Every state set from now on is of this change. To be called before a document is applied. */
  begin(change: Change): void {
    this.stamps.begin(change);
  }

  pack(sgtin: Sgtin): PackState | undefined {
    const number = this.numbers.get(sgtin);
    return number === undefined ? this.standingPack(sgtin)?.state : this.index.state(number);
  }

  isTouched(sgtin: Sgtin): boolean {
    return this.numbers.has(sgtin);
  }

  /** Its number in the index; undefined while nobody touched it. */
  numberOf(sgtin: Sgtin): number | undefined {
    return this.numbers.get(sgtin);
  }

  /** The series: as registered, else that of its standing consignment. */
  seriesOf(sgtin: Sgtin): string | undefined {
    const number = this.numbers.get(sgtin);
    return number === undefined ? this.standingPack(sgtin)?.series : this.index.class(number).series;
  }

  setPack(sgtin: Sgtin, state: PackState): void {
    const number = this.numbers.get(sgtin);
    if (number === undefined) return this.addPack(sgtin, state);
    const before = this.index.state(number);
    const { gtin, series } = this.index.class(number);
    const after = this.stamps.stamp(state, this.suspensions.holds(sgtin, gtin, state.series ?? series));
    this.index.change(number, after);
    this.storage.changed(gtin, { before, after, change: this.stamps.current });
    if (!hasSameStatus(before, after)) this.archive.noted(number, after);
  }

  /** Whether the record lies in the archive; `sweep` brings that up to date. */
  isArchived(sgtin: Sgtin): boolean {
    const number = this.numbers.get(sgtin);
    return number !== undefined && this.index.class(number).archived;
  }

  /** Archives what reached its final status 60 days ago. */
  sweep(virtualMs: number): void {
    this.archive.sweep(virtualMs);
  }

  /**
   * The decision that holds the pack, if any. For checks: a held pack in circulation has the status paused_circulation
   * by itself.
   */
  suspensionOf(sgtin: Sgtin): Decision | undefined {
    return this.suspensions.isEmpty ? undefined : this.suspensions.of(sgtin, sgtin.slice(0, 14), this.seriesOf(sgtin));
  }

  /** Carries out a decision on the packs that are known; later ones meet it when they come into circulation. */
  decide(decision: Decision): void {
    this.suspensions.add(decision);
    this.begin({ atMs: decision.haltDateMs });
    for (const sgtin of this.packsOf(decision)) {
      const state = this.pack(sgtin) as PackState;
      if (isTouchedBy(decision.haltType, state))
        this.setPack(sgtin, decision.haltType === 'cancel' ? freed(state) : state);
    }
  }

  /** The packs that a decision is about, as far as they are touched. */
  packsOf({ gtin, batch, sgtins }: Pick<Decision, 'gtin' | 'batch' | 'sgtins'>): Sgtin[] {
    if (sgtins !== undefined) return sgtins.filter((sgtin) => this.isTouched(sgtin));
    return [...this.index.select({ gtin, series: batch })].flatMap((one) =>
      one.numbers.map((number) => this.index.sgtin(number)),
    );
  }

  /** How many packs that are; without making a list of them. */
  countOf({ gtin, batch, sgtins }: Pick<Decision, 'gtin' | 'batch' | 'sgtins'>): number {
    if (sgtins !== undefined) return sgtins.filter((sgtin) => this.isTouched(sgtin)).length;
    let count = 0;
    for (const one of this.index.select({ gtin, series: batch })) count += one.numbers.length;
    return count;
  }

  /** What lies at a place of an owner: packs in no unit, and outermost units. In a lasting order. */
  thingsAt(owner: string, place: string): { sgtins: Sgtin[]; containers: Container[] } {
    const sgtins: Sgtin[] = [];
    for (const { numbers } of this.index.select({ owner })) {
      for (const number of numbers) {
        const state = this.index.state(number);
        if (state.place === place && state.sscc === undefined) sgtins.push(this.index.sgtin(number));
      }
    }
    const isHere = (unit: Container) =>
      unit.owner === owner && unit.place === place && unit.parent === undefined && !unit.unpacked;
    return { sgtins: sgtins.sort(), containers: [...this.units.values()].filter(isHere) };
  }

  /**
   * The packs that a document changed, with their states before it. `isLast`: no other document has changed them since.
   */
  *changedBy(document: RegistryDocument): Iterable<{ sgtin: Sgtin; before: PackState; isLast: boolean }> {
    const known = new Map<Trail | undefined, Undoing | undefined>();
    for (let number = 0; number < this.index.size; number += 1) {
      const { trail } = this.index.state(number);
      if (!known.has(trail)) known.set(trail, undoingOf(trail, document));
      const found = known.get(trail);
      if (found !== undefined) yield { sgtin: this.index.sgtin(number), ...found };
    }
  }

  /** The unit itself, what holds it, and so on to the outermost. */
  unitsAbove(unit: Container): Container[] {
    const units = [unit];
    for (let at = unit; at.parent !== undefined && units.length <= MAX_DEPTH;) {
      const parent = this.container(at.parent);
      if (parent === undefined) break;
      units.push((at = parent));
    }
    return units;
  }

  container(sscc: Sscc): Container | undefined {
    return this.units.get(sscc);
  }

  addContainer(container: Container): void {
    container.packedAtMs = this.stamps.current.atMs;
    this.units.set(container.sscc, container);
  }

  /** The pack leaves the container that holds it; an emptied container ceases to be. */
  takeOutPack(sgtin: Sgtin): void {
    const state = this.pack(sgtin);
    if (state?.sscc === undefined) return;
    const unit = this.units.get(state.sscc);
    unit?.packs.delete(sgtin);
    this.setPack(sgtin, { ...state, sscc: undefined });
    if (unit !== undefined) this.retireWhenEmpty(unit);
  }

  /** The container leaves the one that holds it. */
  takeOutContainer(container: Container): void {
    const parent = container.parent === undefined ? undefined : this.units.get(container.parent);
    parent?.containers.delete(container.sscc);
    container.parent = undefined;
    if (parent !== undefined) this.retireWhenEmpty(parent);
  }

  /** Everything inside, the container itself first among the containers. Undefined when it nests too deep. */
  contentOf(container: Container): Content | undefined {
    const content: Content = { sgtins: [], containers: [] };
    return this.collect(container, content, 0) ? content : undefined;
  }

  private collect(container: Container, content: Content, depth: number): boolean {
    if (depth > MAX_DEPTH) return false;
    content.containers.push(container);
    for (const sgtin of container.packs) content.sgtins.push(sgtin);
    for (const sscc of container.containers) {
      const inner = this.units.get(sscc);
      if (inner === undefined || !this.collect(inner, content, depth + 1)) return false;
    }
    return true;
  }

  private retireWhenEmpty(unit: Container): void {
    if (unit.packs.size > 0 || unit.containers.size > 0) return;
    unit.unpacked = true;
    this.takeOutContainer(unit);
  }

  private addPack(sgtin: Sgtin, state: PackState): void {
    // A key cut out of a document keeps the whole text of the document alive; its own copy does not.
    const key = Buffer.from(sgtin, 'latin1').toString('latin1');
    const standing = this.standingPack(sgtin);
    const series = standing?.series;
    const gtin = key.slice(0, 14);
    const after = this.stamps.stamp(state, this.suspensions.holds(key, gtin, state.series ?? series));
    const number = this.index.add(key, after, series);
    this.numbers.set(key, number);
    const change = this.stamps.current;
    const before = standing?.state;
    if (change.document === undefined) this.storage.opened(gtin, after);
    else if (before !== undefined) this.storage.opened(gtin, before);
    if (change.document !== undefined) this.storage.changed(gtin, { before, after, change });
    this.archive.noted(number, after);
  }

  /** One text for all packs of a series. */
  private seriesOfConsignment(consignment: string): string {
    let series = this.series.get(consignment);
    if (series === undefined)
      this.series.set(consignment, (series = this.world.standing.series.replace('{consignment}', consignment)));
    return series;
  }

  /** A check looks at a pack and then sets it, so the last answer is mostly the next one. */
  private standingPack(sgtin: Sgtin): Standing | undefined {
    if (this.lastStanding?.sgtin !== sgtin) this.lastStanding = { sgtin, found: this.findStanding(sgtin) };
    return this.lastStanding.found;
  }

  private findStanding(sgtin: Sgtin): Standing | undefined {
    if (!isSgtin(sgtin)) return undefined;
    const { gtin, serial } = splitSgtin(sgtin);
    const product = this.world.products.get(gtin);
    const match = product === undefined ? null : this.serial.exec(serial);
    if (product === undefined || match === null || Number(match[3]) >= this.world.standing.firstUnknownIndex)
      return undefined;
    const consignment = Number(match[2]);
    const to = this.standingReceiver(consignment);
    const key = `${product.supplier} ${to}`;
    let state = this.standingStates.get(key);
    if (state === undefined) {
      const supplier = this.world.participants.get(product.supplier) as Participant;
      const place = supplier.branches[0] as string;
      state = { status: 'in_realization', owner: supplier.key, place, transfer: { from: place, to, order: 'direct' } };
      this.standingStates.set(key, state);
    }
    return { state, series: this.seriesOfConsignment(match[2] as string) };
  }

  private standingReceiver(consignment: number): string {
    const { firstForeignConsignment, foreignReceiver } = this.world.standing;
    const foreign = this.world.participants.get(foreignReceiver) as Participant;
    const { branches } = this.world.standingReceiver;
    return (
      consignment >= firstForeignConsignment ? foreign.branches[0] : branches[consignment % branches.length]
    ) as string;
  }
}
