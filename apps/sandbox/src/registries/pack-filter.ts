import type { PackState } from '../packs/pack.js';
import type { Participant, World } from '../packs/world.js';
import type { Registry } from '../registry.js';
import { pageOfClasses, type PackClass } from './pack-index.js';
import { emittedMs, holds, lastChangeMs } from './pack-facts.js';
import { BILLING, EMISSION_OWN, SOURCE_OWN } from './records.js';
import type { FilterReader, Page } from './request.js';

interface Found {
  numbers: number[];
  total: number;
}

interface PackSearch {
  page: Page;
  /** Key of the participant whose packs are meant; all when absent. */
  owner?: string;
  archived: boolean;
  /** A further condition on a whole class. */
  ofClass?: (one: PackClass) => boolean;
  /** Further packs, whatever their class. */
  also?: Iterable<string>;
}

const DATES = ['release_date', 'emission_operation_date', 'last_tracing_op_date'] as const;

/**
 * A list of packs by the filter of public-facts 1.3. Product, series, owner and status go by class, so their cost does
 * not grow with the packs; one SGTIN or SSCC goes by itself; dates are looked at pack by pack within the classes that
 * are left.
 */
export function findPacks(registry: Registry, filter: FilterReader, search: PackSearch): Found {
  const { packs, world } = registry;
  const { page, archived } = search;
  const owner = ownerOf(world, filter, search.owner);
  const statuses = filter.texts('sgtin_status');
  const gtin = filter.text('gtin');
  const series = filter.text('batch');
  const sgtin = filter.text('sgtin');
  const sscc = filter.text('pack3_id');
  const products = productsOf(world, filter);
  const byState = stateMatcher(registry, filter);
  const possible = areConstantsMet(filter);
  filter.end();
  if (!possible || owner === null) return { numbers: [], total: 0 };
  const wanted = { gtin, series, owner, archived, statuses: statuses === undefined ? undefined : new Set(statuses) };
  const isWanted = (one: PackClass) =>
    (products === undefined || products.has(one.gtin)) && (search.ofClass?.(one) ?? true);
  if (sgtin === undefined && sscc === undefined && search.also === undefined) {
    return pageOfClasses(filtered(packs.index.select(wanted), isWanted), page, byState);
  }
  const also = new Set(search.also);
  const named = sgtin !== undefined ? [sgtin] : sscc !== undefined ? (packs.container(sscc)?.packs ?? []) : undefined;
  const classes = new Set(packs.index.select(wanted));
  const matches = (number: number): boolean => {
    const one = packs.index.class(number);
    if (!classes.has(one) || (byState !== undefined && !byState(number))) return false;
    if (sgtin !== undefined && sscc !== undefined && packs.index.state(number).sscc !== sscc) return false;
    return isWanted(one) || also.has(packs.index.sgtin(number));
  };
  const numbersOf = (all: Iterable<string>) =>
    [...all].map((one) => packs.numberOf(one)).filter((one) => one !== undefined);
  if (named !== undefined) return cut(numbersOf(named).filter(matches), page);
  // Whole classes first, then the packs that are named besides and lie in none of them.
  const whole = pageOfClasses(filtered(classes, isWanted), page, byState);
  const rest = numbersOf(also).filter((number) => matches(number) && !isWanted(packs.index.class(number)));
  const more = cut(rest, {
    startFrom: Math.max(0, page.startFrom - whole.total),
    count: page.count - whole.numbers.length,
  });
  return { numbers: [...whole.numbers, ...more.numbers], total: whole.total + more.total };
}

const cut = (all: number[], { startFrom, count }: Page): Found => ({
  numbers: all.slice(startFrom, startFrom + count),
  total: all.length,
});

function* filtered(classes: Iterable<PackClass>, isWanted: (one: PackClass) => boolean): Iterable<PackClass> {
  for (const one of classes) if (isWanted(one)) yield one;
}

/** The one participant that is meant; null when nobody can be. */
function ownerOf(world: World, filter: FilterReader, fixed: string | undefined): string | undefined | null {
  const systemId = filter.text('sys_id');
  const inn = filter.text('inn');
  const fits = (one: Participant) =>
    (fixed === undefined || one.key === fixed) &&
    (systemId === undefined || one.systemId === systemId) &&
    (inn === undefined || one.inn === inn);
  if (systemId === undefined && inn === undefined) return fixed;
  return [...world.participants.values()].find(fits)?.key ?? null;
}

/** The products whose names hold what was asked for; undefined when no name was. */
function productsOf({ products }: World, filter: FilterReader): Set<string> | undefined {
  const name = filter.text('prod_name');
  const sellName = filter.text('sell_name');
  if (name === undefined && sellName === undefined) return undefined;
  return new Set(
    [...products.values()]
      .filter((one) => holds(one.prodName, name) && holds(one.prodSellName, sellName))
      .map((one) => one.gtin),
  );
}

/** Of dates and money, which no class has. */
function stateMatcher({ packs }: Registry, filter: FilterReader): ((number: number) => boolean) | undefined {
  const asked = DATES.filter((name) => filter.has(`${name}_from`, `${name}_to`)).map((name) => ({
    name,
    isWithin: filter.range(`${name}_from`, `${name}_to`),
  }));
  for (const name of DATES) filter.range(`${name}_from`, `${name}_to`);
  const money = [filter.numbers('source_type'), filter.numbers('source')].filter((one) => one !== undefined);
  if (asked.length === 0 && money.length === 0) return undefined;
  const fits = (state: PackState): boolean =>
    money.every((codes) => codes.includes(state.funding ?? SOURCE_OWN)) &&
    asked.every(({ name, isWithin }) =>
      isWithin(name === 'last_tracing_op_date' ? lastChangeMs(state) : emittedMs(state)),
    );
  // Packs that went the same way are one state, and mostly stand side by side.
  let last: { state: PackState; fits: boolean } | undefined;
  return (number) => {
    const state = packs.index.state(number);
    if (last?.state !== state) last = { state, fits: fits(state) };
    return last.fits;
  };
}

/** Every code is paid for, in the sandbox. */
function isBilled(filter: FilterReader | undefined): boolean {
  if (filter === undefined) return true;
  const met = Object.entries(BILLING).map(([name, value]) => (filter.flag(name) ?? value) === value);
  filter.ignore('payments');
  filter.end();
  return met.every(Boolean);
}

/** Fields that have one value in the sandbox: another one finds nothing. */
function areConstantsMet(filter: FilterReader): boolean {
  const met = [
    filter.numbers('emission_type')?.includes(EMISSION_OWN) ?? true,
    filter.text('oms_order_id') === undefined,
    filter.flag('vzn_drug') !== true,
    filter.flag('gnvlp') !== true,
    isBilled(filter.inner('billing_info')),
  ];
  return met.every(Boolean);
}
