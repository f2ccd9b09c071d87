import { hasValidCheckDigit } from '#kernel';
import {
  daysBefore,
  type DisposalRow,
  IN_STOCK_BOX,
  MOMENT,
  type RecordRow,
  type RegistryRow,
  type StockRow,
  type World,
} from './world.js';

/* eslint-disable complexity -- the rules once more, as one chain of questions for each topic */
/** What the rules say, written again as plain code over rows in memory: the other way to the same answer. */
export interface Told {
  item: string;
  code: string;
  severity: string;
}

const SHELF = ['in_circulation', 'in_partial_sale'];
const SOLD = ['in_sale'];
const isNone = (value: unknown): value is null | undefined => value === null || value === undefined;
const at = (iso: string | null | undefined): number => (isNone(iso) ? NaN : Date.parse(iso));

export function oracle({ stock, record, registry, disposals }: World): {
  findings: Told[];
  quieted: Record<string, number>;
} {
  const legs = {
    s: new Map(stock.map((row) => [row.item, row])),
    r: new Map(record.map((row) => [row.item, row])),
    g: new Map(registry.map((row) => [row.item, row])),
    d: new Map(disposals.map((row) => [row.item, row])),
  };
  const items = new Set([...legs.s.keys(), ...legs.r.keys(), ...legs.g.keys()]);
  const [findings, quieted]: [Told[], Record<string, number>] = [[], {}];
  for (const item of items) {
    const one = new Item(item, legs.s.get(item), legs.r.get(item), legs.g.get(item), legs.d.get(item));
    for (const [code, severity] of one.told()) findings.push({ item, code, severity });
    for (const code of one.quiet()) quieted[code] = (quieted[code] ?? 0) + 1;
  }
  return { findings: findings.sort(byItem), quieted };
}

const key = ({ item, code, severity }: Told): string => `${item} ${code} ${severity}`;
export const byItem = (a: Told, b: Told): number => (key(a) < key(b) ? -1 : 1);

type Said = [code: string, severity: string] | undefined;
/** What explains a difference is no finding. */
const QUIET = 'quiet';

class Item {
  private readonly isFound: boolean;
  private readonly status: string;
  private readonly own: string;

  constructor(
    private readonly item: string,
    private readonly s: StockRow | undefined,
    private readonly r: RecordRow | undefined,
    private readonly g: RegistryRow | undefined,
    private readonly d: DisposalRow | undefined,
  ) {
    this.isFound = g?.answer === 'found';
    this.status = kindOf(g?.status);
    this.own = kindOf(r?.status);
  }

  told(): [string, string][] {
    const differences = [this.presence(), this.statusOf(), this.placeOf(), this.containerOf()];
    const other = this.ofAnotherMoment();
    const all = [
      ...[this.rows(), this.expiry(), this.attribute()],
      ...differences.map((said) => (said !== undefined && said[1] !== QUIET && other !== undefined ? other : said)),
    ];
    const loud = all.filter((said) => said !== undefined && said[1] !== QUIET) as [string, string][];
    return [...new Map(loud.map((said) => [said.join(), said])).values()];
  }

  quiet(): string[] {
    const all = [this.presence(), this.statusOf(), this.attribute()];
    const said = [...new Set(all.flatMap((one) => (one?.[1] === QUIET ? [one[0]] : [])))];
    return this.g === undefined && (this.isHere || this.isExpected) ? [...said, 'registry_not_asked'] : said;
  }

  /** It has not left by our record, or may not have. */
  private get isExpected(): boolean {
    const notLeft = ['shelf', 'transit', 'suspended', 'none', 'unmapped'];
    const isThere = this.r?.uncertain === true || notLeft.includes(this.own);
    return this.r !== undefined && this.isCovered && isThere;
  }

  private get isHeld(): boolean {
    return [this.g?.container, this.r?.container].includes(IN_STOCK_BOX);
  }

  private get isHere(): boolean {
    return this.s !== undefined || this.isHeld;
  }

  /** That of its own row, or else of its box, which is for sale. */
  private get state(): string | undefined {
    return this.s?.state ?? (this.isHeld ? 'sellable' : undefined);
  }

  private get isOpen(): boolean {
    return ['sellable', 'reserved'].includes(this.state ?? '');
  }

  private get place(): string | null {
    return this.s?.place ?? (this.isHeld ? 'P1' : null);
  }

  /** By our record it goes to another place. */
  private get isLeaving(): boolean {
    const to = this.r?.place;
    return this.isHere && this.own === 'transit' && !isNone(to) && this.place !== null && to !== this.place;
  }

  /** The stock speaks of P1 and P2 alone: P3 is another place, and no place is none. */
  private get isCovered(): boolean {
    return (this.g?.place ?? this.r?.place) !== 'P3';
  }

  private get isOurs(): boolean {
    return this.isCovered || ['P1', 'P2'].includes(this.r?.place ?? '');
  }

  private get isLookedAt(): boolean {
    return this.isHere || this.isOurs;
  }

  /** By the side that tells its place, or by where the ERP has disposed of it. */
  private get isDisposalOfOurs(): boolean {
    const place = this.g?.place ?? this.r?.place ?? this.d?.place;
    return place !== 'P3' || [this.r?.place, this.d?.place].some((one) => one === 'P1' || one === 'P2');
  }

  private ofAnotherMoment(): Said {
    if (at(this.g?.moved_at) > at(MOMENT)) return ['moved_during_run', 'information'];
    return at(this.g?.moment) < at(daysBefore(2)) ? ['stale_snapshot', 'information'] : undefined;
  }

  private rows(): Said {
    if (this.s === undefined) return undefined;
    if (this.s.twice) return ['duplicate_locally', 'warning'];
    const digits = this.item.length === 18 ? this.item : this.item.slice(0, 14);
    return hasValidCheckDigit(digits) ? undefined : ['master_data_error', 'information'];
  }

  private presence(): Said {
    const { s, r, g } = this;
    if (g?.answer === 'denied')
      return this.isHere || (this.isCovered && ['shelf', 'transit', 'suspended'].includes(this.own))
        ? ['not_visible_to_us', 'information']
        : undefined;
    if (g?.answer === 'archived') {
      if (this.isHere) return ['archived_in_stock', 'critical'];
    }
    if (g?.answer === 'not_found') {
      if (s !== undefined && r === undefined && this.item.length === 27) return ['unknown_serial', 'critical'];
      if (this.isHere || (this.isCovered && ['shelf', 'transit', 'suspended'].includes(this.own)))
        return ['missing_in_registry', 'critical'];
    }
    return this.isFound ? this.presenceOfFound() : this.absentHere();
  }

  private get isMissed(): boolean {
    return !this.isHere && this.isCovered;
  }

  /** Nobody tells whether it is of a place that the stock speaks of. */
  private get missed(): Said {
    return isNone(this.g?.place) && isNone(this.r?.place) ? ['place_not_told', QUIET] : ['missing_locally', 'warning'];
  }

  private absentHere(): Said {
    const { s, r, g, d } = this;
    if (s === undefined && g === undefined && d !== undefined) return ['disposed_here', QUIET];
    if (!this.isMissed || g !== undefined || r === undefined || r.uncertain) return undefined;
    return ['shelf', 'suspended'].includes(this.own) ? ['missing_locally', 'warning'] : undefined;
  }

  private presenceOfFound(): Said {
    const { s, r, g } = this;
    const since = (days: number): boolean => at(g?.moved_at) >= at(daysBefore(days));
    if (this.status === 'shelf') {
      if (s === undefined && this.d !== undefined && this.isDisposalOfOurs)
        return at(this.d.moment) >= at(daysBefore(10))
          ? ['till_sale_may_come', QUIET]
          : ['sold_here_open_in_registry', 'critical'];
      if (s === undefined && this.own === 'sold' && r?.uncertain === false && this.isOurs)
        return ['sold_here_open_in_registry', 'critical'];
      if (!this.isHere && !this.isCovered && this.own === 'transit') return ['accepted_elsewhere', QUIET];
      if (!this.isMissed) return undefined;
      return since(10) ? ['till_sale_may_come', QUIET] : this.missed;
    }
    if (this.status === 'suspended') return this.isMissed && this.own !== 'transit' ? this.missed : undefined;
    if (this.status !== 'transit') return undefined;
    if (this.isHere && this.state !== 'in_transit' && !this.isLeaving) return ['not_accepted_inbound', 'warning'];
    if (isNone(g?.moved_at) || since(30)) return ['in_transit', QUIET];
    return this.isHere || this.isCovered ? ['awaiting_counterparty', 'warning'] : undefined;
  }

  private statusOf(): Said {
    if (!this.isFound) return this.suspendedByUs();
    const here = this.isHere;
    if (this.status === 'unmapped' && this.isLookedAt) return ['unmapped_status', 'warning'];
    if (this.status === 'deviation' && this.isLookedAt) return ['sold_with_deviation', 'warning'];
    if (here && this.status === 'sold') return ['sold_in_registry_in_stock_here', 'critical'];
    if (here && this.status === 'expired') return ['expired_auto_written_off', 'critical'];
    if (this.status === 'suspended') {
      if (this.state === 'in_transit' || (!here && this.own === 'transit' && this.isOurs))
        return ['suspended_in_transit', 'critical'];
      if (here) return ['suspended_in_stock', this.isOpen ? 'critical' : 'information'];
    }
    if (here && this.status === 'gone') return ['status_mismatch', 'critical'];
    return this.ofBoth();
  }

  private suspendedByUs(): Said {
    return this.isOpen && this.g === undefined && this.own === 'suspended'
      ? ['suspended_in_stock', 'critical']
      : undefined;
  }

  /** Where record and registry tell of different standings. */
  private ofBoth(): Said {
    const known = [this.own, this.status].every((one) => !['none', 'unmapped'].includes(one));
    if (!known || this.own === this.status) return undefined;
    if (this.r?.uncertain === true && this.isLookedAt) return ['undetermined_item', 'information'];
    if (!this.isHere) {
      if (this.d !== undefined && this.own === 'shelf' && ['sold', 'gone'].includes(this.status))
        return ['disposed_here', QUIET];
      if (['shelf', 'transit'].includes(this.own) && this.status === 'sold') return ['sold_by_till', QUIET];
    }
    if ([this.own, this.status].includes('unknown')) return undefined;
    const isOpenSale = this.s === undefined && this.own === 'sold' && this.status === 'shelf';
    return isOpenSale || !this.isLookedAt ? undefined : ['status_mismatch', 'warning'];
  }

  private expiry(): Said {
    const expiry = this.s?.expiry ?? this.g?.expiry;
    if (!this.isHere || isNone(expiry) || expiry >= '2026-11-23' || this.status === 'expired') return undefined;
    return ['expired_in_stock', this.isOpen ? 'critical' : 'information'];
  }

  private placeOf(): Said {
    const { r, g } = this;
    const differs = (a: string | null | undefined, b: string | null | undefined): Said =>
      !isNone(a) && !isNone(b) && a !== b ? ['owner_or_branch_mismatch', 'warning'] : undefined;
    if (!this.isHere)
      return this.isOurs && this.isFound && this.status === 'shelf' && this.own === 'shelf'
        ? differs(r?.place, g?.place)
        : undefined;
    if (this.state === 'in_transit') return undefined;
    if (g === undefined) return this.own === 'shelf' ? differs(this.place, r?.place) : undefined;
    return this.isFound && ['shelf', 'suspended'].includes(this.status) ? differs(this.place, g.place) : undefined;
  }

  private containerOf(): Said {
    if (!this.isLookedAt || !this.isFound || this.r === undefined || this.r.container === this.g?.container)
      return undefined;
    if (!['shelf', 'transit', 'suspended'].includes(this.status)) return undefined;
    return this.g?.container === null ? ['container_dissolved', 'information'] : ['container_mismatch', 'warning'];
  }

  private attribute(): Said {
    const { s, g } = this;
    if (!isNone(s?.expiry) && !isNone(g?.expiry) && s?.expiry !== g?.expiry) return ['attribute_mismatch', 'warning'];
    if (isNone(s?.series) || isNone(g?.series) || s?.series === g?.series) return undefined;
    const alike = [s?.series, g?.series].every((one) => one?.endsWith('B1') === true);
    return alike ? ['look_alike_letters', QUIET] : ['attribute_mismatch', 'warning'];
  }
}

function kindOf(status: string | null | undefined): string {
  if (isNone(status)) return 'none';
  if (SHELF.includes(status)) return 'shelf';
  if (SOLD.includes(status)) return 'sold';
  const others: Record<string, string> = {
    in_realization: 'transit',
    paused_circulation: 'suspended',
    ofd_retail_error: 'deviation',
    expired: 'expired',
    disposed: 'gone',
    marked: 'unknown',
  };
  return others[status] ?? 'unmapped';
}
