import type { Use } from '../sgtin-history/doubtful-parts.js';
import { countedOnce } from '../sgtin-history/life.js';
import type { MovementEffectRow } from '../sgtin-history/row.js';
import type { TransferStep } from './transfer.js';

/** A place in the registry's order: acceptance in microseconds since 1970, then the log position. */
export interface Moment {
  atMicros: bigint;
  position: bigint;
}

/** What one document did to one item. */
export interface LifeEntry extends Moment {
  item: string;
  /** Tells apart an item that one document names twice. */
  ordinal: number;
  effect: EntryEffect;
  transfer?: TransferStep;
  use: Use;
  /** It only asks, or reserves numbers. */
  movesNothing?: boolean;
  /** A later document has made it as if it had not been, but for where it left the item. */
  isRecalled?: boolean;
  /** What it leaves open where it cannot be told whether it happened, of what it names and of what that holds. */
  leavesOpen: Record<'itself' | 'inside', number>;
}

/** What a document says of series and expiry; item and gtin are empty where it says so of all that it names. */
export interface Told extends Moment {
  item: string;
  gtin: string;
  series: string | null;
  expiresOn: string | null;
  /** It corrects details: said of a container, it is said of each pack that this holds. */
  isCorrection?: boolean;
  /** Said of what a container holds, and not of the pack. */
  isOfContent?: boolean;
}

export type EntryEffect = {
  [K in 'result' | 'status' | 'place' | 'owner' | 'holder' | 'containment' | 'container' | 'part']: Exclude<
    MovementEffectRow[K],
    undefined
  > | null;
};

/** An item was in a container after `from`, up to and including `to`; absent while it is there. */
interface Stay {
  container: string;
  from: Moment;
  to: Moment | undefined;
}

/** What happened to a container, and around it, for all that it held. */
interface Carrying {
  /** In order; of a document that names several containers around one another, one counts, as in `livedRows`. */
  entries: readonly LifeEntry[];
  /** Openings that let out what it held, in order. */
  releases: readonly Moment[];
  /** A ring of containers was cut here, so that what follows from it depends on where it was begun. */
  isCut: boolean;
}

export const compare = (a: Moment, b: Moment): number => {
  if (a.atMicros !== b.atMicros) return a.atMicros < b.atMicros ? -1 : 1;
  if (a.position === b.position) return 0;
  return a.position < b.position ? -1 : 1;
};

/** A place of which all was moved is named like an item. */
export const isPlace = (item: string): boolean => item.length === PLACE_LENGTH;
const PLACE_LENGTH = 14;
const GTIN_LENGTH = 14;
/** Real nesting is three or four deep; wrong documents may nest further, and no answer may take for ever. */
const MOST_NESTING = 20;

const isOpening = ({ effect: { containment } }: LifeEntry): boolean =>
  containment === 'opened' || containment === 'opened_all';

/**
 * The lives of some items, from what documents did to them and to every container that any of them was ever in. Pure:
 * what it tells follows from the movements that count, in whatever order they became known.
 */
export class Lives {
  private readonly own = new Map<string, LifeEntry[]>();
  private readonly carryings = new Map<string, Carrying>();
  private readonly told = new Map<bigint, Told[]>();
  private readonly toldOf = new Map<string, Told[]>();

  constructor(entries: readonly LifeEntry[], told: readonly Told[] = []) {
    for (const one of told) {
      this.told.set(one.position, [...(this.told.get(one.position) ?? []), one]);
      if (one.item !== '') this.toldOf.set(one.item, [...(this.toldOf.get(one.item) ?? []), one]);
    }
    for (const entry of entries) {
      const known = this.own.get(entry.item);
      if (known === undefined) this.own.set(entry.item, [entry]);
      else known.push(entry);
    }
    for (const each of this.own.values()) each.sort((a, b) => compare(a, b) || a.ordinal - b.ordinal);
  }

  /** The item's own movements, in order. */
  ownOf(item: string): readonly LifeEntry[] {
    return this.own.get(item) ?? [];
  }

  /** What happened to an item: its own movements, and those of containers while they held it. */
  lifeOf(item: string): LifeEntry[] {
    const stays = this.staysOf(item, new Set([item]));
    const around = stays.flatMap((stay) => during(this.carryingOf(stay.container).entries, stay));
    return merged([this.ownOf(item), around]);
  }

  /** What was said of a pack's series and expiry, in order: of itself, or of what carried it then. */
  toldAbout(item: string, life: readonly LifeEntry[]): Told[] {
    const alone = (this.toldOf.get(item) ?? []).filter(({ position }) => !this.isRefused(item, position));
    const within = life.flatMap((entry) => {
      if (entry.effect.result === 'refused') return [];
      const said = (this.told.get(entry.position) ?? []).filter((one) => one.item === '' || one.item === entry.item);
      const within = toldWithin(
        said.filter((one) => one.item !== item),
        item,
      );
      if (entry.item === item) return within;
      return within.map((one) => (one.isCorrection === true ? one : { ...one, isOfContent: true }));
    });
    return [...alone, ...within].sort(compare);
  }

  /** What a document says of an item counts only where it was not refused for it. */
  private isRefused(item: string, position: bigint): boolean {
    const named = this.ownOf(item).filter((entry) => entry.position === position);
    return named.length > 0 && named.every(({ effect }) => effect.result === 'refused');
  }

  /** The container that holds the item right after a moment. */
  containerAfter(item: string, moment: Moment): string | undefined {
    const stays = this.staysOf(item, new Set([item]));
    return stays.findLast(({ from, to }) => compare(from, moment) <= 0 && (to === undefined || compare(to, moment) > 0))
      ?.container;
  }

  /** What happened, after a moment, to what was in the container then; and the opening that let it out. */
  carriedSince(container: string, moment: Moment): { entries: LifeEntry[]; to: Moment | undefined } {
    const { entries, releases } = this.carryingOf(container);
    const to = releases.find((one) => compare(one, moment) > 0);
    return { entries: during(entries, { from: moment, to }), to };
  }

  /** Whether, after a moment, series were told of all that is in the container. */
  isToldSince({ container, ...moment }: Moment & { container: string }): boolean {
    return this.carriedSince(container, moment).entries.some(({ position }) => this.told.has(position));
  }

  private staysOf(item: string, path: ReadonlySet<string>): Stay[] {
    const changes = this.ownOf(item).filter(({ effect }) => effect.containment !== null);
    return changes.flatMap((change, n) => {
      const { container } = change.effect;
      if (container === null) return [];
      const next = changes.slice(n + 1);
      // Of two containers that one document names for an item the last one counts.
      if (next.some((one) => one.position === change.position && one.effect.container !== null)) return [];
      const own = next.find((one) => compare(one, change) > 0);
      const opened = this.carryingOf(container, path).releases.find((one) => compare(one, change) > 0);
      return [{ container, from: change, to: earlier(own, opened) }];
    });
  }

  private carryingOf(container: string, path: ReadonlySet<string> = new Set()): Carrying {
    const known = this.carryings.get(container);
    if (known !== undefined) return known;
    if (path.has(container) || path.size > MOST_NESTING) return { entries: [], releases: [], isCut: true };
    const within = new Set(path).add(container);
    const own = this.ownOf(container);
    let isCut = false;
    const outer = this.staysOf(container, within).flatMap((stay) => {
      const around = this.carryingOf(stay.container, within);
      isCut ||= around.isCut;
      return during(around.entries, stay);
    });
    const releases = [...own.filter(isOpening), ...outer.filter(({ effect }) => effect.containment === 'opened_all')];
    const carrying = { entries: merged([own, outer]), releases: releases.sort(compare), isCut };
    if (!isCut) this.carryings.set(container, carrying);
    return carrying;
  }
}

/**
 * Of what a document says of all that it names, or that a container holds, what fits a pack. One that names several
 * series of a product does not say which pack is of which.
 */
export function toldWithin(said: readonly Told[], pack: string): readonly Told[] {
  const fitting = said.filter(({ gtin }) => gtin === '' || gtin === pack.slice(0, GTIN_LENGTH));
  return new Set(fitting.map(({ series }) => series)).size > 1 ? [] : fitting;
}

const earlier = (a: Moment | undefined, b: Moment | undefined): Moment | undefined => {
  if (a === undefined || b === undefined) return a ?? b;
  return compare(a, b) <= 0 ? a : b;
};

/** A container's movement counts after the item went in, up to and including the moment that ended the stay. */
const during = (entries: readonly LifeEntry[], { from, to }: Pick<Stay, 'from' | 'to'>): LifeEntry[] =>
  entries.filter((one) => compare(one, from) > 0 && (to === undefined || compare(one, to) <= 0));

/** In order; a document that names the item and what is around it counts once: as `livedRows` has it. */
function merged(byDepth: readonly (readonly LifeEntry[])[]): LifeEntry[] {
  const all = byDepth.flatMap((entries, depth) => entries.map((entry) => ({ entry, depth })));
  all.sort((a, b) => compare(a.entry, b.entry) || a.entry.ordinal - b.entry.ordinal || a.depth - b.depth);
  return countedOnce(
    all.map(({ entry }) => entry),
    ({ effect }) => effect.result === 'refused',
  );
}
