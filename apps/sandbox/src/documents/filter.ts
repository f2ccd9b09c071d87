import { canonicalUuid } from '#kernel';
import { endOfListDate, parseListDate } from '../clock/dates.js';
import type { SandboxSettings } from '../config.js';
import { refuse } from '../http/refusal.js';
import type { World } from '../packs/world.js';
import type { Profile } from '../profile.js';
import { filterIn, wholeNumber } from '../registries/request.js';
import type { RegistryDocument } from './document.js';
import { PROCESSING_RESULTS, processingResult, shownStatus } from './metadata.js';

/** A list read: which documents, from which place in the list, how many. */
interface ListRequest {
  documentIds?: string[];
  requestId?: string;
  fromVirtualMs?: number;
  toVirtualMs?: number;
  processedFromVirtualMs?: number;
  processedToVirtualMs?: number;
  status?: string;
  result?: string;
  docType?: number;
  docNum?: string;
  uploadType?: number;
  /** Of the registrar whose report the document is. */
  reportId?: string;
  /** A place of activity or a participant's system id; so is `receiverId`. */
  senderId?: string;
  receiverId?: string;
  onlyNew?: boolean;
  startFrom: number;
  count: number;
}

const MAX_COUNT = 1000;
const DEFAULT_COUNT = 100;
const MAX_IDS = 1000;

type Raw = Record<string, unknown>;

/** From the JSON body of a POST: { filter, start_from, count } (public-facts 1.2). Refuses what it does not know. */
export function listRequestOfBody(body: Raw, profile: Profile): ListRequest {
  return listRequest(profile, filterIn(body, profile), {
    startFrom: body[profile.field('start_from')],
    count: body[profile.field('count')],
  });
}

/**
 * From the query of a GET: every filter by its name; ids repeated or separated by commas; or the whole filter as JSON.
 */
export function listRequestOfQuery(query: URLSearchParams, profile: Profile): ListRequest {
  const filter: Raw = {};
  const single = new Set([...query.keys()].filter((key) => key !== profile.field('document_ids')));
  for (const key of single) if (query.getAll(key).length > 1) throw refuse(400, `${key} is given more than once`);
  for (const [key, value] of query) {
    if (key === profile.field('start_from') || key === profile.field('count')) continue;
    if (key === profile.field('filter')) Object.assign(filter, filterIn({ [key]: parsedJson(value) }, profile));
    else if (key === profile.field('document_ids'))
      filter[key] = [...((filter[key] as string[] | undefined) ?? []), ...value.split(',')];
    else filter[key] = value;
  }
  return listRequest(profile, filter, {
    startFrom: query.get(profile.field('start_from')),
    count: query.get(profile.field('count')),
  });
}

function listRequest(
  profile: Profile,
  filter: Raw,
  { startFrom, count }: { startFrom: unknown; count: unknown },
): ListRequest {
  const request: ListRequest = {
    startFrom: wholeNumber(startFrom ?? 0, 'start_from', Number.MAX_SAFE_INTEGER),
    count: wholeNumber(count ?? DEFAULT_COUNT, 'count', MAX_COUNT),
  };
  const readers = filterReaders(request, profile);
  for (const [name, value] of Object.entries(filter)) {
    if (value === undefined || value === null || value === '') continue;
    const read = readers[name];
    if (read === undefined) throw refuse(400, `there is no filter "${name}"`);
    read(value);
  }
  return request;
}

function filterReaders(request: ListRequest, profile: Profile): Record<string, (value: unknown) => void> {
  const date = (name: string, value: unknown, read = parseListDate): number => {
    const unixMs = typeof value === 'string' ? read(value, profile.zone) : undefined;
    if (unixMs === undefined) throw refuse(400, `${name} is not a date: ${JSON.stringify(value)}`);
    return unixMs;
  };
  const f = (name: string) => profile.field(name);
  return {
    [f('document_ids')]: (value) => (request.documentIds = idList(value)),
    [f('document_id')]: (value) => (request.documentIds = [text('document_id', value)]),
    [f('request_id')]: (value) => (request.requestId = canonicalUuid(text('request_id', value))),
    [f('start_date')]: (value) => (request.fromVirtualMs = date('start_date', value)),
    [f('end_date')]: (value) => (request.toVirtualMs = date('end_date', value, endOfListDate)),
    processed_date_from: (value) => (request.processedFromVirtualMs = date('processed_date_from', value)),
    processed_date_to: (value) => (request.processedToVirtualMs = date('processed_date_to', value, endOfListDate)),
    [f('doc_status')]: (value) => (request.status = oneOf(Object.keys(profile.statuses), f('doc_status'), value)),
    [f('processing_document_status')]: (value) =>
      (request.result = oneOf(PROCESSING_RESULTS, f('processing_document_status'), value)),
    [f('doc_type')]: (value) => (request.docType = wholeNumber(value, 'doc_type', 99_999)),
    [f('doc_num')]: (value) => (request.docNum = text('doc_num', value)),
    [f('file_uploadtype')]: (value) => (request.uploadType = wholeNumber(value, 'file_uploadtype', 4)),
    skzkm_report_id: (value) => (request.reportId = text('skzkm_report_id', value)),
    [f('sender_id')]: (value) => (request.senderId = text('sender_id', value)),
    [f('receiver_id')]: (value) => (request.receiverId = text('receiver_id', value)),
    [f('only_new')]: (value) => (request.onlyNew = flag('only_new', value)),
  };
}

interface ListContext {
  profile: Profile;
  world: World;
  virtualMs: number;
}

/** One page of the list, in the order of the settings, and how many documents there are in all. */
export function listPage(
  all: RegistryDocument[],
  request: ListRequest,
  context: ListContext & {
    order: SandboxSettings['listOrder'];
    byId(id: string): RegistryDocument | undefined;
  },
): { documents: RegistryDocument[]; total: number } {
  const { documentIds, fromVirtualMs, startFrom, count } = request;
  const matches = matcher(request, context);
  const byDate = documentIds === undefined ? all : named(documentIds, context.byId);
  const first = fromVirtualMs === undefined ? 0 : firstSince(byDate, fromVirtualMs);
  const documents: RegistryDocument[] = [];
  let total = 0;
  for (let at = first; at < byDate.length; at += 1) {
    const document = byDate[context.order === 'oldest' ? at : byDate.length - 1 - (at - first)] as RegistryDocument;
    if (!matches(document)) continue;
    if (total >= startFrom && documents.length < count) documents.push(document);
    total += 1;
  }
  return { documents, total };
}

/** Those that are there, by date. */
const named = (ids: string[], byId: (id: string) => RegistryDocument | undefined): RegistryDocument[] =>
  [...new Set(ids)]
    .map((id) => byId(id))
    .filter((one) => one !== undefined)
    .sort((a, b) => a.acceptedVirtualMs - b.acceptedVirtualMs || a.seq - b.seq);

/** The place of the first that is no older; all are in order of date. */
function firstSince(byDate: RegistryDocument[], virtualMs: number): number {
  let [low, high] = [0, byDate.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((byDate[middle] as RegistryDocument).acceptedVirtualMs < virtualMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

type Test = (document: RegistryDocument) => boolean;

function matcher(request: ListRequest, { profile, world, virtualMs }: ListContext): Test {
  const tests: Test[] = [
    ...equals(request.uploadType, (one) => one.uploadType),
    ...names(world, request.senderId, (one) => ({ at: one.subject, by: one.sender })),
    ...names(world, request.receiverId, (one) => ({ at: one.counterparty, by: one.receiver })),
    ...equals(request.reportId, (one) => one.device?.['skzkm_report_id']),
    ...equals(request.onlyNew === true ? true : undefined, (one) => !one.isRead),
    ...equals(request.requestId, (one) => canonicalUuid(one.requestId)),
    ...equals(request.docType, (one) => one.docType),
    ...equals(request.docNum, (one) => one.docNum),
    ...within(request.fromVirtualMs, request.toVirtualMs, (one) => one.acceptedVirtualMs),
    ...within(request.processedFromVirtualMs, request.processedToVirtualMs, (one) =>
      one.changedRealMs === undefined ? NaN : one.dueVirtualMs,
    ),
    ...equals(request.status, (one) => shownStatus(one, virtualMs, profile)),
    ...equals(request.result, processingResult),
  ];
  return (document) =>
    document.hiddenUntilVirtualMs <= virtualMs &&
    document.listedFromVirtualMs <= virtualMs &&
    tests.every((test) => test(document));
}

/** No test where nothing was asked for. */
const equals = <Value>(wanted: Value | undefined, of: (document: RegistryDocument) => Value | undefined): Test[] =>
  wanted === undefined ? [] : [(document) => of(document) === wanted];

/** Whether a side of the document is the place, or the participant of the system id, that was asked for. */
function names(
  world: World,
  wanted: string | undefined,
  side: (document: RegistryDocument) => { at: string | undefined; by: string | undefined },
): Test[] {
  if (wanted === undefined) return [];
  const participant = world.participantAt(wanted.toLowerCase());
  if (participant?.systemId !== wanted.toLowerCase()) return [(document) => side(document).at === wanted];
  return [
    (document) => {
      const { at, by } = side(document);
      return by === undefined ? at !== undefined && world.participantAt(at) === participant : by === participant.key;
    },
  ];
}

/** NaN lies within no bounds. */
function within(from: number | undefined, to: number | undefined, of: (document: RegistryDocument) => number): Test[] {
  if (from === undefined && to === undefined) return [];
  return [(document) => of(document) >= (from ?? -Infinity) && of(document) <= (to ?? Infinity)];
}

function flag(name: string, value: unknown): boolean {
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw refuse(400, `${name} must be true or false`);
}

function text(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw refuse(400, `${name} is not a text`);
}

/** A word of an enumeration (registry-interface 2.1): an empty list for any other word would look like an answer. */
function oneOf(words: readonly string[], name: string, value: unknown): string {
  const word = text(name, value);
  if (words.includes(word)) return word;
  throw refuse(400, `${name} is none of ${words.join(', ')}: ${JSON.stringify(word)}`);
}

function idList(value: unknown): string[] {
  const ids = typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(ids) || ids.some((id) => typeof id !== 'string'))
    throw refuse(400, 'document_ids is not a list of ids');
  if (ids.length > MAX_IDS) throw refuse(400, `document_ids holds more than ${MAX_IDS} ids`);
  return ids as string[];
}

function parsedJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw refuse(400, 'the filter is not a JSON object');
  }
}
