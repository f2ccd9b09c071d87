/**
 * Which container held what, and when, from the changes that documents made: one forward walk in the registry's order.
 * Pure: it is the reference for every other way to compute stays. Proven in containment.prop.spec.ts.
 */

/** A place in the registry's order: its acceptance in microseconds since 1970, then the log position that told it. */
export interface Moment {
  at: bigint;
  position: bigint;
}

/** What one document did to the containment of one item. Input of the walk, in any order. */
export interface ContainmentChange extends Moment {
  item: string;
  /** Tells apart an item that one document names twice. */
  ordinal: number;
  /**
   * `taken_out`: is in no container any more, if it was in one. `extracted`: the document says that it was in one.
   * `opened`: releases what it holds directly, and is no unit any more. `opened_all`: so do those nested in it.
   */
  kind: 'packed' | 'taken_out' | 'extracted' | 'opened' | 'opened_all';
  /** Into which one; for `packed` alone. */
  container?: string;
  /** The registry says that it is in there, and not that it went in then: no second packing. */
  isAnswer?: true;
  /** When it happened, as the document claims, in milliseconds since 1970; absent when it claims no instant. */
  claimedMs?: number | undefined;
}

/** An item was in a container after `from`, up to and including `to`; absent while it is there. */
export interface Stay {
  item: string;
  container: string;
  from: Moment;
  to?: Moment;
}

export const CONTAINMENT_FINDINGS = [
  'ring',
  'in_two_containers',
  'packed_twice',
  'not_packed',
  'claimed_out_of_order',
] as const;

/** Where documents contradict one another. What the later one says counts. */
export interface ContainmentFinding extends Moment {
  kind: (typeof CONTAINMENT_FINDINGS)[number];
  item: string;
  /** The container that the document names or opens. */
  container?: string;
  /** The container that held the item until then. */
  other?: string;
}

/** Output of the walk: stays in the order of their beginning, findings in the order of their documents. */
export interface Containments {
  stays: Stay[];
  findings: ContainmentFinding[];
  /** When each container, or one around it, was last opened so that it held nothing more. */
  emptied: Map<string, Moment>;
}

export const compareMoments = (a: Moment, b: Moment): number => {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1;
  if (a.position === b.position) return 0;
  return a.position < b.position ? -1 : 1;
};

/**
 * Walks all changes of some items and of the containers around them. A document ends stays before it begins new ones.
 * Of two containers that one document names for an item the last one counts.
 */
export function walkContainment(changes: readonly ContainmentChange[]): Containments {
  const walk = new Walk();
  const ordered = [...changes].sort(
    (a, b) => compareMoments(a, b) || a.ordinal - b.ordinal || (a.item < b.item ? -1 : Number(a.item > b.item)),
  );
  for (let from = 0; from < ordered.length;) {
    let to = from + 1;
    while (to < ordered.length && compareMoments(ordered[to] as Moment, ordered[from] as Moment) === 0) to += 1;
    walk.document(ordered.slice(from, to));
    from = to;
  }
  const { stays, findings, emptied } = walk;
  return { stays, findings, emptied };
}

class Walk {
  readonly stays: Stay[] = [];
  readonly findings: ContainmentFinding[] = [];
  readonly emptied = new Map<string, Moment>();
  /** The stay that an item is in, with what the packing claimed. */
  private readonly current = new Map<string, { stay: Stay; claimedMs: number | undefined }>();
  private readonly contents = new Map<string, Set<string>>();
  /** When each item's newest stay that is over ended. */
  private readonly ended = new Map<string, Moment>();

  document(changes: readonly ContainmentChange[]): void {
    for (const change of changes) this.endStays(change);
    for (const change of changes) if (change.kind === 'packed') this.pack(change);
  }

  private endStays(change: ContainmentChange): void {
    const { item, kind } = change;
    const held = this.current.get(item)?.stay;
    if (kind === 'extracted' && held === undefined && !this.hasEnded(change)) this.find('not_packed', change);
    if (kind === 'packed' && held !== undefined) this.findPacked(change, held.container);
    this.end(item, change);
    if (kind === 'opened' || kind === 'opened_all') this.release(item, change);
  }

  /** What went in while it was in another, or in there already: the registry may well say so, and a document not. */
  private findPacked(change: ContainmentChange, other: string): void {
    const isSame = other === change.container;
    if (isSame && change.isAnswer === true) return;
    this.find(isSame ? 'packed_twice' : 'in_two_containers', change, other);
  }

  /** Whether another change of this document has ended the item's stay. */
  private hasEnded({ item, ...moment }: ContainmentChange): boolean {
    const ended = this.ended.get(item);
    return ended !== undefined && compareMoments(ended, moment) === 0;
  }

  /** Wrong documents may nest containers in a ring: each is opened once. */
  private release(container: string, change: ContainmentChange): void {
    const opened = new Set([container]);
    for (const one of opened) {
      this.emptied.set(one, momentOf(change));
      for (const inner of this.contents.get(one) ?? []) {
        this.end(inner, change);
        if (change.kind === 'opened_all') opened.add(inner);
      }
    }
  }

  private end(item: string, change: ContainmentChange): void {
    const held = this.current.get(item);
    if (held === undefined) return;
    const { stay, claimedMs } = held;
    stay.to = momentOf(change);
    this.ended.set(item, stay.to);
    this.current.delete(item);
    this.contents.get(stay.container)?.delete(item);
    if (claimedMs !== undefined && change.claimedMs !== undefined && change.claimedMs < claimedMs)
      this.find('claimed_out_of_order', { ...change, item }, stay.container);
  }

  private pack(change: ContainmentChange): void {
    const { item, container } = change;
    if (container === undefined) throw new Error(`${item} is packed into no container at position ${change.position}`);
    const named = this.current.get(item)?.stay;
    // Only a stay of this very document is still there: all earlier ones have ended.
    if (named !== undefined) {
      this.find(named.container === container ? 'packed_twice' : 'in_two_containers', change, named.container);
      this.contents.get(named.container)?.delete(item);
      this.stays.splice(this.stays.lastIndexOf(named), 1);
    }
    if (this.isWithin(container, item)) this.find('ring', change);
    const stay: Stay = { item, container, from: momentOf(change) };
    this.stays.push(stay);
    this.current.set(item, { stay, claimedMs: change.claimedMs });
    const content = this.contents.get(container);
    if (content === undefined) this.contents.set(container, new Set([item]));
    else content.add(item);
  }

  /** Whether `inner` is `outer`, or somewhere in it. */
  private isWithin(inner: string, outer: string): boolean {
    const seen = new Set<string>();
    for (let at: string | undefined = inner; at !== undefined && !seen.has(at);) {
      if (at === outer) return true;
      seen.add(at);
      at = this.current.get(at)?.stay.container;
    }
    return false;
  }

  private find(kind: ContainmentFinding['kind'], change: ContainmentChange, other?: string): void {
    const { item, container } = change;
    this.findings.push({
      kind,
      item,
      ...momentOf(change),
      ...(container === undefined ? {} : { container }),
      ...(other === undefined ? {} : { other }),
    });
  }
}

const momentOf = ({ at, position }: Moment): Moment => ({ at, position });

/** A container that carried an item, directly (depth 1) or around others, after `from` and up to and including `to`. */
export interface Carrier extends Omit<Stay, 'item'> {
  depth: number;
}

/** Every container around an item with the time in which it was; a ring is followed once around. */
export function carriersOf(item: string, stays: readonly Stay[]): Carrier[] {
  const byItem = new Map<string, Stay[]>();
  for (const stay of stays) {
    const own = byItem.get(stay.item);
    if (own === undefined) byItem.set(stay.item, [stay]);
    else own.push(stay);
  }
  const carriers: Carrier[] = [];
  const around = (inner: string, within: readonly Carrier[]): void => {
    const last = within.at(-1);
    for (const stay of byItem.get(inner) ?? []) {
      if (stay.container === item || within.some(({ container }) => container === stay.container)) continue;
      const carrier = overlap(stay, last);
      if (carrier === undefined) continue;
      carriers.push(carrier);
      around(stay.container, [...within, carrier]);
    }
  };
  around(item, []);
  return carriers;
}

function overlap({ container, from, to }: Stay, last: Carrier | undefined): Carrier | undefined {
  const depth = (last?.depth ?? 0) + 1;
  if (last === undefined) return { container, depth, from, ...(to === undefined ? {} : { to }) };
  const begins = compareMoments(from, last.from) > 0 ? from : last.from;
  const ends = to === undefined || (last.to !== undefined && compareMoments(last.to, to) < 0) ? last.to : to;
  if (ends !== undefined && compareMoments(begins, ends) >= 0) return undefined;
  return { container, depth, from: begins, ...(ends === undefined ? {} : { to: ends }) };
}

/** Whether a moment is in a stay: after its beginning, up to and including its end. */
export const isDuring = (moment: Moment, { from, to }: Pick<Stay, 'from' | 'to'>): boolean =>
  compareMoments(moment, from) > 0 && (to === undefined || compareMoments(moment, to) <= 0);
