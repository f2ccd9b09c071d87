import type { Gtin, Sgtin } from '#kernel';

/**
 * A decision of the regulator to stop circulation, or to cancel that (public-facts 1.4). Moments are of the virtual
 * clock.
 */
export interface Decision {
  haltId: string;
  haltType: 'suspend' | 'cancel';
  docNum: string;
  docDateMs: number;
  haltDateMs: number;
  gtin: Gtin;
  /** The whole series; else the packs of `sgtins`. */
  batch?: string | undefined;
  sgtins?: Sgtin[] | undefined;
}

/** Every decision, and which of them hold a series or a pack now. */
export class Suspensions {
  readonly decisions: Decision[] = [];
  private readonly bySeries = new Map<string, Decision>();
  private readonly byPack = new Map<Sgtin, Decision>();

  add(decision: Decision): void {
    this.decisions.push(decision);
    const { gtin, batch, sgtins = [] } = decision;
    if (batch !== undefined) put(this.bySeries, seriesKey(gtin, batch), decision);
    for (const sgtin of sgtins) put(this.byPack, sgtin, decision);
  }

  /** Nothing is held. */
  get isEmpty(): boolean {
    return this.bySeries.size === 0 && this.byPack.size === 0;
  }

  /** The decision that holds a pack. */
  of(sgtin: Sgtin, gtin: Gtin, series: string | undefined): Decision | undefined {
    if (this.isEmpty) return undefined;
    return this.byPack.get(sgtin) ?? (series === undefined ? undefined : this.bySeries.get(seriesKey(gtin, series)));
  }

  holds(sgtin: Sgtin, gtin: Gtin, series: string | undefined): boolean {
    return this.of(sgtin, gtin, series) !== undefined;
  }

  holdsSeries(gtin: Gtin, series: string | undefined): boolean {
    return series !== undefined && this.bySeries.has(seriesKey(gtin, series));
  }

  /** Packs that are held one by one. */
  heldPacks(): Iterable<Sgtin> {
    return this.byPack.keys();
  }

  byId(haltId: string): Decision | undefined {
    return this.decisions.find((one) => one.haltId === haltId);
  }
}

const seriesKey = (gtin: Gtin, batch: string): string => `${gtin} ${batch}`;

function put(held: Map<string, Decision>, key: string, decision: Decision): void {
  if (decision.haltType === 'suspend') held.set(key, decision);
  else held.delete(key);
}
