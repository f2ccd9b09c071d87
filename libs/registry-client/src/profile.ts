import { readFileSync } from 'node:fs';
import {
  firstFault,
  invalidConfiguration,
  isJsonObject,
  PedigreeError,
  PLAIN_WORDS,
  type JsonObject,
  type JsonValue,
} from '#kernel';
import { z } from 'zod';
import { accountRefusals } from './account-refusals.js';
import { FIELDS, OPERATIONS, UPLOAD_CHANNELS, type OperationName } from './profile-names.js';
import { parseZone, parseDateFormat } from './registry-dates.js';

/** Profiles that come with the product, in the folder `profiles` beside `src`. */
export const BUILT_IN_PROFILES = ['interface-v1', 'mdlp'] as const;

const milliseconds = z.number().int().min(0).max(86_400_000);
const count = z.number().int().min(1);
const accepts =
  (parse: (text: string) => unknown) =>
  (text: string): boolean => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  };

const dateFormat = z
  .string()
  .refine(accepts(parseDateFormat), 'knows only yyyy MM dd HH mm ss SSS XXX and quoted text');

const operation = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE']),
  /** Under `basePath`; `{document_id}` and the like are filled in. */
  path: z.string().regex(/^(\/|\{link\}$)/, 'must begin with /'),
  /** The least interval between two calls of one account, until a 429 teaches another. */
  intervalMs: milliseconds,
  /** Lists: entries of one page. */
  pageSize: count.max(1000).optional(),
  /** How dates are written in the filter of this list, where it differs from `filterDateFormat`. */
  dateFormat: dateFormat.optional(),
  /** Receipt and download: a link to be fetched, or the bytes themselves. */
  answersWith: z.enum(['link', 'body']).optional(),
});

/**
 * What each path must leave a place for: without it every call would ask for the same thing, and with another name for
 * none.
 */
const PLACES: Partial<Record<OperationName, string>> = {
  status: 'document_id',
  receipt: 'document_id',
  download: 'document_id',
  find_by_request_id: 'request_id',
  fetch_link: 'link',
  upload_part: 'link',
  product: 'gtin',
  sgtin: 'sgtin',
  archived_sgtin: 'sgtin',
  suspension_decision_sgtins: 'halt_id',
  sscc_hierarchy: 'sscc',
  sscc_sgtins: 'sscc',
  sscc_full_hierarchy: 'sscc',
  export_state: 'task_id',
  export_file: 'result_id',
  export_delete: 'result_id',
};

function checkPlaces(operations: Record<OperationName, { path: string }>, context: z.core.$RefinementCtx): void {
  for (const name of OPERATIONS) {
    const wanted = PLACES[name];
    const given = [...operations[name].path.matchAll(/\{([^}]*)\}/g)].map(([, place]) => place);
    if (given.some((place) => place !== wanted))
      context.addIssue({
        code: 'custom',
        path: [name, 'path'],
        message: `knows ${wanted === undefined ? 'no place to fill in' : `only {${wanted}}`}`,
      });
    else if (wanted !== undefined && given.length === 0)
      context.addIssue({ code: 'custom', path: [name, 'path'], message: `must hold {${wanted}}` });
  }
}

/** Without a name for these no document would ever be over. */
const CONCLUDING = ['processed', 'failed_result_ready'] as const;

function checkStatuses(statuses: Record<string, string>, context: z.core.$RefinementCtx): void {
  const missing = CONCLUDING.find((one) => !Object.values(statuses).includes(one));
  if (missing !== undefined) context.addIssue({ code: 'custom', message: `names no status that means ${missing}` });
}

const rules = z.strictObject({
  statusAfterSendMs: milliseconds,
  receiptAfterStatusMs: milliseconds,
  statusPollMs: milliseconds,
  receiptPollMs: milliseconds,
  failedGraceMs: milliseconds,
  unknownGraceMs: milliseconds,
  /** One call from the first byte to the last. */
  requestTimeoutMs: milliseconds.min(1),
  /** TCP and TLS, within `requestTimeoutMs`. */
  connectTimeoutMs: milliseconds.min(1),
  /** Each of the two sign-in calls; short, because the others of the account wait meanwhile. */
  signInTimeoutMs: milliseconds.min(1).max(14_000),
  tokenLifeMs: milliseconds.min(1),
  tokenIdleMs: milliseconds.min(1),
  tokensPerUser: count,
  guardMs: milliseconds,
  slotSlackMs: milliseconds,
  maxItemsPerDocument: count,
  /** Where a type's limit is lower than that and than its schema's: action_id to count. A larger document is split. */
  maxItemsByType: z.record(z.string().regex(/^\d{1,6}$/, 'must be an action_id'), count).default({}),
  /**
   * Whether a partial result stops a group as an error does (registry-interface 3.2: "processed with an error" leaves
   * it open).
   */
  partialStopsGroup: z.boolean().default(true),
  /**
   * The longest document that `send` takes; a longer one is announced and uploaded. Some registries limit the whole
   * JSON body, where it stands in base64 beside its signature (public-facts 1.2, doc_size).
   */
  maxDocumentBytes: count,
  /** The longest document that is taken at all. */
  maxLargeDocumentBytes: count,
  /** A large document is uploaded in parts of this size. */
  uploadPartBytes: count,
  /** How often each account's document lists are read. */
  listPollMs: milliseconds.min(100),
  /**
   * How late the registry may show a document after the time that it dates it with: so far back each reading of a list
   * begins.
   */
  listOverlapMs: milliseconds,
  /** How far back the very first reading of a list begins. */
  listReachMs: milliseconds,
  /** About how many pages one reading of a list takes; more is left to the next one, which follows at once. */
  listPagesAtOnce: count,
  /**
   * How often a document or receipt of others is asked for that the registry does not give, until that is shown and
   * left.
   */
  absentTries: count,
});

const names = <Name extends string, T extends z.ZodType>(keys: readonly Name[], each: T) =>
  z.strictObject(Object.fromEntries(keys.map((key) => [key, each])) as Record<Name, T>);

const status = z.enum(['uploading', 'processing', 'processed', 'failed_result_ready', 'failed']);
const origin = z.url({ protocol: /^https?$/ });

/**
 * What is done about documents of suspended packs before they are sent: types of document, by action_id, that are
 * stopped, under what they do. All others pass.
 */
const suspension = z.strictObject({
  stops: z.record(z.string().min(1), z.array(count)),
  /** Where nobody told of which series a pack is: it passes, and that is recorded; or it is held. */
  unknownSeries: z.enum(['pass', 'hold']),
});

/** The export of packs, and how its file is read (public-facts 5). */
const packExport = z.strictObject({
  /** What is posted to order it. */
  body: z.record(z.string(), z.json()),
  /** What is posted to list all tasks of a user, in whatever state. */
  search: z.record(z.string(), z.json()),
  /** How a result shows that its file can be downloaded. */
  readyResult: z.strictObject({ available: z.string(), downloadStatus: z.string() }),
  /** How old its rows may be when it is ordered. */
  oldestRowHours: z.number().int().min(0).max(8_760),
  /** The longest file that is taken, and the longest CSV that may be in it. */
  maxFileBytes: count.max(1_073_741_824),
  maxCsvBytes: count,
  /** A download from the first byte to the last. */
  downloadMs: milliseconds.min(1),
  /** How the CSV is read: a mapping of stock files, of kind `registry`. */
  mapping: z.record(z.string(), z.json()),
});

const profileShape = z.strictObject({
  name: z.string().min(1),
  about: z.string(),
  /** Versions of documents that the registry takes, the newest last (public-facts 2). */
  documentVersions: z.array(z.string().min(1)).min(1),
  /** Path prefix of every operation. */
  basePath: z.string().regex(/^(\/.*[^/])?$/, 'must begin with / and not end with it'),
  /** Offset in which registry times without a zone are meant. */
  zone: z
    .string()
    .refine((zone) => /^[+-]\d{2}:\d{2}$/.test(zone) && accepts(parseZone)(zone), 'must be an offset such as +03:00'),
  /** Dates in the filters of the document lists: yyyy MM dd HH mm ss SSS XXX and quoted text, in `zone`. */
  listDateFormat: dateFormat,
  /** Dates in the filters of all other lists; a format that ends in a quoted Z is written in UTC. */
  filterDateFormat: dateFormat,
  authorization: z.strictObject({ header: z.string().min(1), prefix: z.string() }),
  /** Milliseconds in one unit of the answer's `life_time`. */
  tokenLifeUnitMs: count,
  /**
   * What to do with the host of a link. `base`: fetch its path from our base address, whatever host it names. A pair:
   * links of that origin go to the other one. null: only links of the base address. The token goes nowhere else.
   */
  linkRewrite: z.union([z.null(), z.literal('base'), z.strictObject({ from: origin, to: origin })]),
  /**
   * Where the bytes of an announced document go when the answer that told the link was lost, `{document_id}` filled in.
   * null: nobody can know.
   */
  lostUploadLink: z.string().regex(/^\//, 'must begin with /').nullable(),
  statuses: z.record(z.string(), status).superRefine(checkStatuses),
  /** What a status means that is not in `statuses`; null: such an answer is not understood. */
  statusFallback: status.nullable(),
  /** A Rejected receipt whose comment holds one of these is no verdict: it is asked for again (public-facts 2.3). */
  transientReceipts: z.array(z.string().min(1)),
  /** By which channel a document came, after the upload type that lists show (public-facts 1.2, file_uploadtype). */
  uploadChannels: z.record(z.string(), z.enum(UPLOAD_CHANNELS)),
  /** States of an asynchronous export. */
  exportStatuses: z.record(z.string(), z.enum(['preparing', 'completed', 'failed'])),
  packExport,
  /** Which refusals concern the account: they pause it, and its documents wait. */
  accountRefusals,
  rules,
  suspension,
  operations: names(OPERATIONS, operation).superRefine(checkPlaces),
  fields: names(FIELDS, z.string().min(1)),
});

/** All that the interface leaves open, as data (principles 6.1). */
export type Profile = z.infer<typeof profileShape>;

/** Part of a profile, to any depth. */
export type ProfileOverrides = JsonObject;

/** `over` laid onto `base`: objects merge by key, anything else replaces. */
function merge(base: JsonValue, over: JsonValue): JsonValue {
  if (!isJsonObject(base) || !isJsonObject(over)) return over;
  const merged: JsonObject = { ...base };
  for (const [key, value] of Object.entries(over))
    merged[key] = key in base ? merge(base[key] as JsonValue, value) : value;
  return merged;
}

/**
 * The tables whose keys are the registry's own words, and the rules that have names: there null takes a built-in one
 * away, where an installation's registry does not know it.
 */
const WORDS = ['statuses', 'exportStatuses', 'uploadChannels', 'accountRefusals'];

function overridden(base: JsonValue, overrides: ProfileOverrides): JsonValue {
  const merged = merge(base, overrides) as JsonObject;
  for (const table of WORDS) {
    const words = merged[table];
    if (isJsonObject(words))
      merged[table] = Object.fromEntries(Object.entries(words).filter(([, meaning]) => meaning !== null));
  }
  return merged;
}

/**
 * A built-in profile with an installation's overrides laid over it.
 * @throws PedigreeError invalid_configuration, naming the field.
 */
export function loadProfile(name: string, overrides: ProfileOverrides = {}): Profile {
  if (!(BUILT_IN_PROFILES as readonly string[]).includes(name)) {
    throw new PedigreeError(
      'invalid_configuration',
      `unknown profile "${name}"; there are ${BUILT_IN_PROFILES.join(' and ')}`,
      { field: 'profile' },
    );
  }
  const text = readFileSync(new URL(`../profiles/${name}.json`, import.meta.url), 'utf8');
  return parseProfile(overridden(JSON.parse(text) as JsonValue, overrides));
}

/**
 * A built-in profile with the overrides of a JSON file, as an installation configures it (REGISTRY_PROFILE,
 * REGISTRY_PROFILE_OVERRIDES).
 * @throws PedigreeError invalid_configuration, naming the variable.
 */
export function readProfile(name: string, overridesFile?: string): Profile {
  const variable = overridesFile === undefined ? 'REGISTRY_PROFILE' : 'REGISTRY_PROFILE_OVERRIDES';
  try {
    return loadProfile(
      name,
      overridesFile === undefined ? {} : (JSON.parse(readFileSync(overridesFile, 'utf8')) as ProfileOverrides),
    );
  } catch (error) {
    throw new PedigreeError('invalid_configuration', `${variable}: ${(error as Error).message}`, { field: variable });
  }
}

/** Checks a whole profile. @throws PedigreeError invalid_configuration, naming the field. */
function parseProfile(value: unknown): Profile {
  const parsed = profileShape.safeParse(value, PLAIN_WORDS);
  if (parsed.success) return parsed.data;
  const { path, message } = firstFault(parsed.error);
  throw invalidConfiguration(['profile', ...path].map(String).join('.'), message);
}
