import { endOfListDate, parseListDate } from '../clock/dates.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import type { Profile } from '../profile.js';

const MAX_COUNT = 1000;
const DEFAULT_COUNT = 100;
const MAX_VALUES = 1000;

/** Both ends belong to it. */
export interface Period {
  firstMs: number;
  lastMs: number;
}

export interface Page {
  startFrom: number;
  count: number;
}

/**
 * The filter of a list, read name by name, each as the profile writes it; a name that nobody read is refused, so that a
 * typing error is no silent "everything".
 */
export class FilterReader {
  private readonly known = new Set<string>();

  constructor(
    private readonly raw: Record<string, unknown>,
    private readonly profile: Pick<Profile, 'field' | 'zone'>,
  ) {}

  text(name: string): string | undefined {
    const value = this.take(name);
    if (value === undefined || typeof value === 'string') return value;
    throw refuse(400, `${this.profile.field(name)} is not a text`);
  }

  /** One text or a list of them. */
  texts(name: string): string[] | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    const list: unknown[] = Array.isArray(value) ? value : [value];
    if (list.length > MAX_VALUES || list.some((one) => typeof one !== 'string'))
      throw refuse(400, `${this.profile.field(name)} is not a list of at most ${MAX_VALUES} texts`);
    return list as string[];
  }

  /** One number or a list of them, as numbers or digits. */
  numbers(name: string): number[] | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    const list = (Array.isArray(value) ? value : [value]).map((one: unknown) =>
      typeof one === 'string' && /^\d{1,9}$/.test(one) ? Number(one) : one,
    );
    if (list.length > MAX_VALUES || list.some((one) => typeof one !== 'number'))
      throw refuse(400, `${this.profile.field(name)} is not a number`);
    return list as number[];
  }

  flag(name: string): boolean | undefined {
    const value = this.take(name);
    if (value === undefined || typeof value === 'boolean') return value;
    if (value === 'true' || value === 'false') return value === 'true';
    throw refuse(400, `${this.profile.field(name)} must be true or false`);
  }

  /** From a moment to the end of another second, or of a day when it has no time. */
  period(from: string, to: string): Period {
    return {
      firstMs: this.date(from, parseListDate) ?? -Infinity,
      lastMs: this.date(to, endOfListDate) ?? Infinity,
    };
  }

  range(from: string, to: string): (unixMs: number) => boolean {
    const { firstMs, lastMs } = this.period(from, to);
    return (unixMs) => unixMs >= firstMs && unixMs <= lastMs;
  }

  /** A filter in the filter. */
  inner(name: string): FilterReader | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'object') throw refuse(400, `${this.profile.field(name)} is not an object`);
    return new FilterReader(value as Record<string, unknown>, this.profile);
  }

  /** Names that the real system knows and that change nothing here. */
  ignore(...names: string[]): void {
    for (const name of names) this.take(name);
  }

  /** Whether the list is asked for dates at all. */
  has(...names: string[]): boolean {
    return names.some((name) => !isNothing(this.raw[this.profile.field(name)]));
  }

  /** Refuses names that were not read, unless nothing is asked for: typed clients write every name they have. */
  end(): void {
    const unknown = Object.keys(this.raw).find((name) => !this.known.has(name) && !isNothing(this.raw[name]));
    if (unknown !== undefined) throw refuse(400, `there is no filter "${unknown}"`);
  }

  private take(name: string): unknown {
    const written = this.profile.field(name);
    this.known.add(written);
    const value = this.raw[written];
    return isNothing(value) ? undefined : value;
  }

  private date(name: string, read: (text: string, zone: string) => number | undefined): number | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    const unixMs = typeof value === 'string' ? read(value, this.profile.zone) : undefined;
    if (unixMs === undefined) throw refuse(400, `${this.profile.field(name)} is not a date: ${JSON.stringify(value)}`);
    return unixMs;
  }
}

const isNothing = (value: unknown): boolean => value === undefined || value === null || value === '';

/** The filter of a list's body. A client whose language has no empty object writes an empty list. Throws a 400. */
export function filterIn(body: Record<string, unknown>, { field }: Pick<Profile, 'field'>): Record<string, unknown> {
  const filter = body[field('filter')] ?? {};
  if (Array.isArray(filter) && filter.length === 0) return {};
  if (typeof filter !== 'object' || Array.isArray(filter)) throw refuse(400, 'the filter is not an object');
  return filter as Record<string, unknown>;
}

/** The JSON body of a list: { filter, start_from, count }. Throws a 400. */
export function listBody(body: Buffer, profile: Profile): { filter: FilterReader; page: Page } {
  const raw = body.length === 0 ? {} : jsonObjectOf(body);
  return {
    filter: new FilterReader(filterIn(raw, profile), profile),
    page: pageOf(raw[profile.field('start_from')], raw[profile.field('count')]),
  };
}

/** The page that a query asks for. Throws a 400. */
export const pageOfQuery = (query: URLSearchParams, profile: Profile): Page =>
  pageOf(query.get(profile.field('start_from')), query.get(profile.field('count')));

const pageOf = (startFrom: unknown, count: unknown): Page => ({
  startFrom: wholeNumber(startFrom ?? 0, 'start_from', Number.MAX_SAFE_INTEGER),
  count: wholeNumber(count ?? DEFAULT_COUNT, 'count', MAX_COUNT),
});

/** Throws a 400. */
export function wholeNumber(value: unknown, name: string, most: number): number {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= most) return number;
  throw refuse(400, `${name} must be a whole number from 0 to ${most}`);
}

/** The part of a list that was asked for. */
export const pageOfList = <T>(all: readonly T[], { startFrom, count }: Page): T[] =>
  all.slice(startFrom, startFrom + count);
