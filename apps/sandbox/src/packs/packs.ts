import { isSgtin, splitSgtin, type Sgtin, type Sscc } from '#kernel';
import type { Participant, World } from './world.js';

/** A shipment under way. `direct`: the receiver accepts (415 then 701); `reverse`: the shipper does (416 then 701). */
export interface Transfer {
  from: string;
  to: string;
  order: 'direct' | 'reverse';
}

/**
 * What the registry knows of a pack. Immutable and shared: the packs of one document that were alike stay one object, so
 * that millions of packs cost a map entry each.
 */
export interface PackState {
  readonly status: string;
  /** Key of the owning participant. */
  readonly owner: string;
  /** Place of activity where it lies, 14 digits. */
  readonly place: string;
  /** The container that holds it directly. */
  readonly sscc?: Sscc | undefined;
  readonly transfer?: Transfer | undefined;
  readonly series?: string | undefined;
  /** How much of it was sold or used, as the document wrote it: `2/10`. */
  readonly partUsed?: string | undefined;
}

/** A logistic unit. It is never reused: an unpacked one stays known. */
export interface Container {
  sscc: Sscc;
  owner: string;
  place: string;
  parent: Sscc | undefined;
  packs: Set<Sgtin>;
  containers: Set<Sscc>;
  unpacked: boolean;
}

/** Everything inside a container, however deep. */
export interface Content {
  sgtins: Sgtin[];
  containers: Container[];
}

const MAX_DEPTH = 10;

/** The state of every pack and container that was ever named; a pack of a standing consignment exists as soon as it is. */
export class PackStore {
  private readonly touched = new Map<Sgtin, PackState>();
  private readonly units = new Map<Sscc, Container>();
  private readonly standingStates = new Map<string, PackState>();
  private readonly serial: RegExp;

  constructor(private readonly world: World) {
    this.serial = new RegExp(world.standing.serial);
  }

  get packCount(): number {
    return this.touched.size;
  }

  get containerCount(): number {
    return this.units.size;
  }

  pack(sgtin: Sgtin): PackState | undefined {
    return this.touched.get(sgtin) ?? this.standingPack(sgtin)?.state;
  }

  isTouched(sgtin: Sgtin): boolean {
    return this.touched.has(sgtin);
  }

  /** The series: as registered, else that of its standing consignment. */
  seriesOf(sgtin: Sgtin): string | undefined {
    return this.touched.get(sgtin)?.series ?? this.standingPack(sgtin)?.series;
  }

  setPack(sgtin: Sgtin, state: PackState): void {
    // A key cut out of a document keeps the whole text of the document alive; its own copy does not.
    const key = this.touched.has(sgtin) ? sgtin : Buffer.from(sgtin, 'latin1').toString('latin1');
    this.touched.set(key, state);
  }

  container(sscc: Sscc): Container | undefined {
    return this.units.get(sscc);
  }

  addContainer(container: Container): void {
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

  private standingPack(sgtin: Sgtin): { state: PackState; series: string } | undefined {
    if (!isSgtin(sgtin)) return undefined;
    const { gtin, serial } = splitSgtin(sgtin);
    const product = this.world.products.get(gtin);
    const match = product === undefined ? null : this.serial.exec(serial);
    if (product === undefined || match === null || Number(match[3]) >= this.world.standing.firstUnknownIndex) return undefined;
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
    return { state, series: this.world.standing.series.replace('{consignment}', match[2] as string) };
  }

  private standingReceiver(consignment: number): string {
    const { firstForeignConsignment, foreignReceiver } = this.world.standing;
    const foreign = this.world.participants.get(foreignReceiver) as Participant;
    const { branches } = this.world.standingReceiver;
    return (consignment >= firstForeignConsignment ? foreign.branches[0] : branches[consignment % branches.length]) as string;
  }
}
