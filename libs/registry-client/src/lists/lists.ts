import { defined, PedigreeError, type JsonObject, type JsonValue } from '#kernel';
import { countOf, objectOf } from '../call/answers.js';
import { READ, READ_ONE, type Caller } from '../call/caller.js';
import type { Reading } from '../call/classify.js';
import { mayReadAgain } from '../call/read-again.js';
import { readOutcome, type ReadOutcome } from '../call/read-outcome.js';
import type { RequestParts } from '../call/requests.js';
import type { RawAnswer } from '../port.js';
import type { Profile } from '../profile.js';
import { formatRegistryDate } from '../registry-dates.js';
import { asList, readRecord } from './shape.js';
import { listRow, type FilterValue, type ListFilter, type ListName, type ListRecord } from './table.js';
import { walkPages, type Page, type StrangeRecord, type WalkOutcome } from './walk-pages.js';

interface ListQuery<N extends ListName> {
  filter?: ListFilter<N>;
  /** Values of the path: `sscc` of sscc_sgtins, `halt_id` of suspension_decision_sgtins. */
  path?: Record<string, string>;
}
export interface PageQuery<N extends ListName> extends ListQuery<N> {
  offset?: number;
  limit?: number;
}
export interface WalkQuery<N extends ListName> extends ListQuery<N> {
  maxPages?: number;
  maxRestarts?: number;
  /** Whether a page that failed is read again, within limits; true unless said otherwise. */
  patient?: boolean;
}

/** All lists of the table, by page or whole (registry-interface 4: lists accept filters; public-facts 1.2: paging). */
export class Lists {
  constructor(private readonly caller: Caller) {}

  /**
   * One page; of some lists it tells apart what is not understood (`strange`). @throws PedigreeError invalid_parameter
   * for a filter that this list does not have, or a path value that is missing.
   */
  page<N extends ListName>(
    account: string,
    name: N,
    query: PageQuery<N> = {},
  ): Promise<ReadOutcome<Page<ListRecord<N>>>> {
    return this.pageOf(account, name, { ...query, setsAside: listRow(name).setsAside === true });
  }

  private async pageOf<N extends ListName>(
    account: string,
    name: N,
    { setsAside, ...query }: PageQuery<N> & { setsAside: boolean },
  ): Promise<ReadOutcome<Page<ListRecord<N>>>> {
    const manner = listRow(name).ofOne === true ? READ_ONE : READ;
    return readOutcome(
      await this.caller.call(account, name, {
        request: this.request(name, query),
        manner,
        read: (raw) => this.read(name, raw, setsAside),
      }),
    );
  }

  /**
   * The whole list, however it changes meanwhile. Each page is a call within the budget; one that fails is read again,
   * a few times. A whole list that holds what nobody understands is none.
   */
  async walk<N extends ListName>(
    account: string,
    name: N,
    query: WalkQuery<N> = {},
  ): Promise<WalkOutcome<ListRecord<N>>> {
    const { maxPages, maxRestarts, patient = true, ...rest } = query;
    const key = listRow(name).key;
    return walkPages<ListRecord<N>>({
      read: (offset, limit) => {
        const query = { ...rest, offset, limit, setsAside: false };
        return this.pageOf(account, name, query as PageQuery<N> & { setsAside: boolean });
      },
      keyOf: (record) => keyOf(record as Record<string, unknown>, key),
      pageSize: this.pageSize(name),
      fixedPages: name === 'export_results',
      ...(patient
        ? { again: (outcome, failuresInARow) => mayReadAgain(outcome, failuresInARow, this.caller.clock) }
        : {}),
      ...defined({ maxPages, maxRestarts }),
    });
  }

  pageSize(name: ListName): number {
    return this.caller.profile.operations[name].pageSize ?? 100;
  }

  private request<N extends ListName>(name: N, query: PageQuery<N>): RequestParts {
    const { profile, requests } = this.caller;
    const { fields } = profile;
    const { method, path } = profile.operations[name];
    for (const [, key] of path.matchAll(/\{(\w+)\}/g)) {
      if (query.path?.[key as string] === undefined)
        throw new PedigreeError('invalid_parameter', `the list ${name} needs ${key}`, { field: key as string });
    }
    const size = Math.min(query.limit ?? this.pageSize(name), this.pageSize(name));
    const offset = query.offset ?? 0;
    const paging =
      name === 'export_results'
        ? { [fields.page]: Math.floor(offset / size), [fields.size]: size }
        : { [fields.start_from]: offset, [fields.count]: size };
    const filter = this.filter(name, query.filter);
    if (method === 'POST')
      return requests.plain(name, query.path, {
        ...(listRow(name).filter === undefined ? {} : { [fields.filter]: filter }),
        ...paging,
      });
    return requests.inQuery(name, query.path, { ...filter, ...paging });
  }

  /** Our names of a filter as the registry's; dates as this list wants them. */
  private filter(name: ListName, filter: Partial<Record<string, FilterValue>> = {}): JsonObject {
    const known = listRow(name).filter ?? {};
    const result: JsonObject = {};
    for (const [ours, value] of Object.entries(filter)) {
      const field = Object.hasOwn(known, ours) ? known[ours] : undefined;
      if (field === undefined)
        throw new PedigreeError('invalid_parameter', `the list ${name} has no filter "${ours}"`, { field: ours });
      if (value !== undefined)
        result[this.caller.profile.fields[field]] =
          value instanceof Date ? filterDate(value, name, this.caller.profile) : (value as JsonValue);
    }
    return result;
  }

  private read<N extends ListName>(name: N, raw: RawAnswer, setsAside: boolean): Reading<Page<ListRecord<N>>> {
    const { profile } = this.caller;
    const row = listRow(name);
    const json = objectOf(raw, profile);
    if ('problem' in json) return json;
    const entries = profile.fields[row.entries];
    if (json.value[entries] === undefined) return { problem: `the answer has no "${entries}"` };
    const [items, strange]: [ListRecord<N>[], StrangeRecord[]] = [[], []];
    for (const [at, one] of asList(json.value[entries]).entries()) {
      const reading = readRecord(one, row.record, profile, row);
      if ('value' in reading) items.push(reading.value as ListRecord<N>);
      else if (setsAside) strange.push({ at, written: JSON.stringify(one) });
      else return { problem: `"${entries}"[${at}]: ${reading.problem}` };
    }
    const total = countOf(json.value[profile.fields[row.total]], profile.fields[row.total]);
    if ('problem' in total) return total;
    return { value: { items, total: total.value, ...(strange.length === 0 ? {} : { strange }) } };
  }
}

/**
 * What tells a record from all others; where the registry left all of that empty (a counterparty abroad has no INN),
 * the whole record does.
 */
function keyOf(record: Record<string, unknown>, parts: readonly string[]): string {
  const values = parts.map((part) => record[part] ?? null);
  return JSON.stringify(values.every((value) => value === null) ? record['fields'] : values);
}

/** A date in a filter, in the form and zone that this list wants (public-facts 1.2: they differ by method). */
function filterDate(instant: Date, name: ListName, profile: Profile): string {
  const format = profile.operations[name].dateFormat ?? profile.filterDateFormat;
  return formatRegistryDate(instant, format, format.endsWith("'Z'") ? '+00:00' : profile.zone);
}
