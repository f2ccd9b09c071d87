import type { Gtin, Sgtin } from '#kernel';
import type { PackState } from '../packs/pack.js';

/**
 * Packs that lists cannot tell apart but by their number: of one product, series, owner and status, live or archived.
 */
export interface PackClass {
  readonly gtin: Gtin;
  readonly series: string | undefined;
  readonly owner: string;
  readonly status: string;
  readonly archived: boolean;
  /** Numbers of its packs, in no lasting order. */
  readonly numbers: number[];
}

/** Which classes a list wants; what is absent is not asked about. */
interface ClassFilter {
  gtin?: Gtin | undefined;
  series?: string | undefined;
  owner?: string | undefined;
  statuses?: ReadonlySet<string> | undefined;
  archived?: boolean | undefined;
}

/**
 * Every touched pack in columns, and grouped into classes, so that a list by product, series, owner and status counts
 * and pages by class: its cost is that of the classes, a few thousand, and not of a million packs.
 */
export class PackIndex {
  private readonly sgtins: Sgtin[] = [];
  private readonly states: PackState[] = [];
  private readonly classOf: PackClass[] = [];
  /** Where in its class a pack stands. */
  private readonly at: number[] = [];
  private readonly classes = new Map<string, PackClass>();
  private readonly byGtin = new Map<Gtin, PackClass[]>();
  private last: PackClass | undefined;

  get size(): number {
    return this.sgtins.length;
  }

  sgtin(number: number): Sgtin {
    return this.sgtins[number] as Sgtin;
  }

  state(number: number): PackState {
    return this.states[number] as PackState;
  }

  class(number: number): PackClass {
    return this.classOf[number] as PackClass;
  }

  /** Takes a pack in; returns its number. */
  add(sgtin: Sgtin, state: PackState, series: string | undefined): number {
    const number = this.sgtins.length;
    this.sgtins.push(sgtin);
    this.states.push(state);
    this.enter(
      number,
      this.find({
        gtin: sgtin.slice(0, 14),
        series: state.series ?? series,
        owner: state.owner,
        status: state.status,
        archived: false,
      }),
    );
    return number;
  }

  /**
   * Another state of a pack. An archived one comes back to life unless it has the same status since the same moment.
   */
  change(number: number, state: PackState): void {
    const before = this.class(number);
    const archived = before.archived && hasSameStatus(this.state(number), state);
    this.states[number] = state;
    this.move(number, {
      gtin: before.gtin,
      series: state.series ?? before.series,
      owner: state.owner,
      status: state.status,
      archived,
    });
  }

  archive(number: number): void {
    this.move(number, { ...this.class(number), archived: true });
  }

  /** The classes that a list wants and that are not empty. */
  *select(filter: ClassFilter): Iterable<PackClass> {
    for (const one of filter.gtin === undefined ? this.classes.values() : (this.byGtin.get(filter.gtin) ?? [])) {
      if (one.numbers.length > 0 && isWanted(one, filter)) yield one;
    }
  }

  private move(number: number, wanted: Omit<PackClass, 'numbers'>): void {
    const before = this.class(number);
    const after = isSame(before, wanted) ? before : this.find(wanted);
    if (after === before) return;
    const place = this.at[number] as number;
    const mover = before.numbers.pop() as number;
    if (mover !== number) {
      before.numbers[place] = mover;
      this.at[mover] = place;
    }
    this.enter(number, after);
  }

  private enter(number: number, into: PackClass): void {
    this.classOf[number] = into;
    this.at[number] = into.numbers.length;
    into.numbers.push(number);
  }

  /** The packs of a document mostly go from one class to one other, so the last one is tried first. */
  private find(wanted: Omit<PackClass, 'numbers'>): PackClass {
    if (this.last !== undefined && isSame(this.last, wanted)) return this.last;
    const { gtin, series, owner, status, archived } = wanted;
    const key = `${gtin} ${owner} ${status} ${archived} ${series ?? ''}`;
    let found = this.classes.get(key);
    if (found === undefined) {
      found = { gtin, series, owner, status, archived, numbers: [] };
      this.classes.set(key, found);
      const ofGtin = this.byGtin.get(gtin);
      if (ofGtin === undefined) this.byGtin.set(gtin, [found]);
      else ofGtin.push(found);
    }
    return (this.last = found);
  }
}

export const hasSameStatus = (before: PackState, after: PackState): boolean =>
  before.status === after.status && before.trail?.sinceMs === after.trail?.sinceMs;

const isSame = (one: PackClass, wanted: Omit<PackClass, 'numbers'>): boolean =>
  one.status === wanted.status &&
  one.series === wanted.series &&
  one.owner === wanted.owner &&
  one.gtin === wanted.gtin &&
  one.archived === wanted.archived;

const isWanted = (one: PackClass, { series, owner, statuses, archived }: ClassFilter): boolean =>
  (series === undefined || one.series === series) &&
  (owner === undefined || one.owner === owner) &&
  (statuses === undefined || statuses.has(one.status)) &&
  (archived === undefined || one.archived === archived);

/**
 * One page over classes, and how many packs there are in all. With `matches`, every pack of the classes is looked at.
 */
export function pageOfClasses(
  classes: Iterable<PackClass>,
  { startFrom, count }: { startFrom: number; count: number },
  matches?: (number: number) => boolean,
): { numbers: number[]; total: number } {
  const numbers: number[] = [];
  let total = 0;
  for (const { numbers: all } of classes) {
    if (matches === undefined) {
      const from = Math.max(0, startFrom - total);
      if (numbers.length < count && from < all.length) numbers.push(...all.slice(from, from + count - numbers.length));
      total += all.length;
      continue;
    }
    for (const number of all) {
      if (!matches(number)) continue;
      if (total >= startFrom && numbers.length < count) numbers.push(number);
      total += 1;
    }
  }
  return { numbers, total };
}
