import { MAX_ITEM_PREDECESSORS, MAX_ITEMS_TOLD, type DocumentReference, type ItemPredecessor } from '#domain';
import type { NamedItems } from './named-items.js';

/** A claim of another document on an item. */
export interface Claim {
  item: string;
  /** False: a container around something that the holder names. */
  isExclusive: boolean;
  /** Greater for whoever came later. */
  holder: number;
  /** Its group, or itself. */
  unit: string;
  /** For whom others wait. */
  told: DocumentReference;
}

export type OwnClaim = Pick<Claim, 'item' | 'isExclusive'> & { parent: string | undefined };

/** One item in which a document meets another. */
export type Meeting = Pick<Claim, 'item' | 'isExclusive' | 'holder' | 'unit' | 'told'>;

/** A claimant, as far as the book is concerned. */
type Claimant = Pick<Claim, 'holder' | 'unit' | 'told'>;

/**
 * The claims that concern a run of registrations and ends, in memory and in log order. Pure: what it is to know of the
 * tables is put in first. An exclusive claim conflicts with both kinds, an intention with no other.
 */
export class ClaimBook {
  private readonly claims = new Map<string, Claim[]>();
  private readonly parents = new Map<string, Set<string>>();
  private readonly itemsOf = new Map<number, string[]>();

  constructor(containers: { child: string; parent: string }[] = []) {
    for (const { child, parent } of containers) this.pack(child, parent);
  }

  /** Claims that the tables have. */
  know(claims: Claim[]): void {
    for (const claim of claims) this.add(claim);
  }

  /**
   * What a document claims: each named item, and as intention each container around it and each place that it means.
   * One that moves all that a place holds claims its places themselves.
   */
  claimsOf(named: NamedItems): OwnClaim[] {
    for (const { item, parent } of named.items) if (parent !== undefined) this.pack(item, parent);
    const exclusive = new Map<string, OwnClaim>();
    for (const { item, parent } of named.items) exclusive.set(item, { item, isExclusive: true, parent });
    for (const { parent } of named.items)
      if (parent !== undefined && !exclusive.has(parent))
        exclusive.set(parent, { item: parent, isExclusive: true, parent: undefined });
    const around = [...this.containersAround([...exclusive.keys()])].filter((one) => !exclusive.has(one));
    const places = named.places.map((item) => ({ item, isExclusive: named.isWholePlace, parent: undefined }));
    return [
      ...[...exclusive.values(), ...places],
      ...around.map((item) => ({ item, isExclusive: false, parent: undefined })),
    ];
  }

  /** Whom a unit with these claims meets. */
  meetings(unit: string, own: OwnClaim[]): Meeting[] {
    return own.flatMap(({ item, isExclusive }) =>
      (this.claims.get(item) ?? []).filter((one) => one.unit !== unit && (isExclusive || one.isExclusive)),
    );
  }

  enter({ holder, unit, told }: Claimant, own: OwnClaim[]): void {
    for (const { item, isExclusive } of own) this.add({ item, isExclusive, holder, unit, told });
  }

  /** What it claimed is free. */
  leave(holder: number): void {
    for (const item of this.itemsOf.get(holder) ?? []) {
      const left = (this.claims.get(item) ?? []).filter((one) => one.holder !== holder);
      if (left.length === 0) this.claims.delete(item);
      else this.claims.set(item, left);
    }
    this.itemsOf.delete(holder);
  }

  private add(claim: Claim): void {
    const items = this.itemsOf.get(claim.holder);
    if (items === undefined) this.itemsOf.set(claim.holder, [claim.item]);
    else items.push(claim.item);
    const known = this.claims.get(claim.item);
    if (known === undefined) this.claims.set(claim.item, [claim]);
    else known.push(claim);
  }

  private pack(child: string, parent: string): void {
    const known = this.parents.get(child);
    if (known === undefined) this.parents.set(child, new Set([parent]));
    else known.add(parent);
  }

  /** Wrong documents can nest containers in a ring: each is visited once. */
  private containersAround(items: string[]): Set<string> {
    const around = new Set<string>();
    const open = [...items];
    for (let item = open.pop(); item !== undefined; item = open.pop()) {
      for (const parent of this.parents.get(item) ?? []) {
        if (around.has(parent)) continue;
        around.add(parent);
        open.push(parent);
      }
    }
    return around;
  }
}

/**
 * Whom to name of all that are met: for each item the newest, and those intentions that came after the newest exclusive
 * claim. The holder of an exclusive claim waits for those before it; what it did not wait for is found when the wait
 * is over.
 */
export function predecessorsIn(meetings: Meeting[]): ItemPredecessor[] {
  const named = new Map<string, { told: DocumentReference; newest: number; items: Set<string> }>();
  for (const [item, those] of byItem(meetings)) {
    const newestFirst = those.sort((a, b) => b.holder - a.holder);
    const last = newestFirst.findIndex((one) => one.isExclusive);
    for (const { told, holder } of last === -1 ? newestFirst : newestFirst.slice(0, last + 1)) {
      const known = named.get(told.requestId);
      if (known === undefined) named.set(told.requestId, { told, newest: holder, items: new Set([item]) });
      else known.items.add(item);
    }
  }
  return [...named.values()]
    .sort((a, b) => b.newest - a.newest)
    .slice(0, MAX_ITEM_PREDECESSORS)
    .map(({ told, items }) => ({ ...told, items: [...items].slice(0, MAX_ITEMS_TOLD), itemCount: items.size }));
}

function byItem(meetings: Meeting[]): Map<string, Meeting[]> {
  const found = new Map<string, Meeting[]>();
  for (const one of meetings) {
    const known = found.get(one.item);
    if (known === undefined) found.set(one.item, [one]);
    else known.push(one);
  }
  return found;
}
