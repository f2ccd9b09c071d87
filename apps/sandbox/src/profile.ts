import { z } from 'zod';
import { profileFile, profileNames, readJsonFile } from './data-files.js';
import { withFurtherRoutes } from './operations/further-routes.js';

/** Canonical kinds of document status, whatever a profile calls them (registry-interface 3.1). */
export type StatusKind = 'uploading' | 'processing' | 'processed' | 'failed_result_ready' | 'failed';

const operation = z.object({
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE']),
  path: z.string(),
  intervalMs: z.number().nonnegative(),
});

const profileShape = z.object({
  name: z.string(),
  basePath: z.string(),
  zone: z.string().regex(/^[+-]\d{2}:\d{2}$/),
  authorization: z.object({ header: z.string(), prefix: z.string() }),
  tokenLifeUnitMs: z.number().positive(),
  statuses: z.record(z.string(), z.enum(['uploading', 'processing', 'processed', 'failed_result_ready', 'failed'])),
  rules: z.object({
    statusAfterSendMs: z.number(),
    receiptAfterStatusMs: z.number(),
    tokenLifeMs: z.number(),
    tokenIdleMs: z.number(),
    tokensPerUser: z.number(),
    maxItemsPerDocument: z.number(),
    maxItemsByType: z.record(z.string(), z.number()).default({}),
    /** For how long clients bear a FAILED that may turn, and a send of which they know nothing. */
    failedGraceMs: z.number().default(0),
    unknownGraceMs: z.number().default(30_000),
    /** How late a document may show up in a list. */
    listOverlapMs: z.number().default(120_000),
  }),
  exportStatuses: z.record(z.string(), z.enum(['preparing', 'completed', 'failed'])),
  operations: z.record(z.string(), operation),
  fields: z.record(z.string(), z.string()),
  /** Versions of documents that the registry takes. */
  documentVersions: z.array(z.string()).min(1),
});

/** The interface as data: the sandbox's routes, field names, status names and intervals are built from it. */
export interface Profile extends z.infer<typeof profileShape> {
  /** The name under which this profile writes a field. */
  field(name: string): string;
  /** A record as it goes out: each field under this profile's name; what lies deeper is named by whoever makes it. */
  named(record: Record<string, unknown>): Record<string, unknown>;
  /** The one name of a final kind; of several the last, for an installation's own comes after the built-in one. */
  statusName(kind: StatusKind): string;
  /** The name of an export's state. */
  exportStatus(kind: 'preparing' | 'completed' | 'failed'): string;
  /** Names shown while a document is under way, in order. */
  intermediateStatuses: string[];
  /** Minutes that the zone is ahead of UTC. */
  zoneMinutes: number;
}

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * `over` laid onto `base`: objects merge by key, anything else replaces. It is the rule by which clients read the same
 * file.
 */
function merge(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over;
  const merged: Fields = { ...base };
  for (const [key, value] of Object.entries(over)) merged[key] = key in base ? merge(base[key], value) : value;
  return merged;
}

/** The tables whose keys are the registry's own words: there null takes a built-in word away. */
const WORDS = ['statuses', 'exportStatuses', 'uploadChannels'];
/**
 * Parts of a profile whose keys are fixed: another one is a typing error, which would leave the built-in name in force
 * without a word.
 */
const FIXED_KEYS = ['operations', 'fields', 'rules'];

function overridden(base: unknown, file: string): unknown {
  const over = readJsonFile(file);
  if (!isObject(over)) throw new Error(`${file}: the overrides of a profile are a JSON object`);
  for (const part of ['', ...FIXED_KEYS]) {
    const known = part === '' ? base : (base as Fields)[part];
    const given = part === '' ? over : over[part];
    const unknown = isObject(given) && isObject(known) ? Object.keys(given).find((key) => !(key in known)) : undefined;
    if (unknown !== undefined)
      throw new Error(`${file}: a profile has no ${part === '' ? unknown : `${part}.${unknown}`}`);
  }
  const merged = merge(base, over) as Fields;
  for (const table of WORDS) {
    const words = merged[table];
    if (isObject(words))
      merged[table] = Object.fromEntries(Object.entries(words).filter(([, meaning]) => meaning !== null));
  }
  return merged;
}

/**
 * Reads and checks a profile by name, with the overrides of a JSON file laid over it: the file that clients get as
 * REGISTRY_PROFILE_OVERRIDES. Throws an Error that names the file and the field.
 */
export function loadProfile(name: string, overridesFile?: string): Profile {
  const names = profileNames();
  if (!names.includes(name)) throw new Error(`there is no profile "${name}"; known are ${names.join(', ')}`);
  const file = profileFile(name);
  const base = readJsonFile(file);
  const parsed = profileShape.safeParse(overridesFile === undefined ? base : overridden(base, overridesFile));
  if (!parsed.success) throw new Error(`${overridesFile ?? file}: ${z.prettifyError(parsed.error)}`);
  return profileOf(parsed.data);
}

function profileOf(data: z.infer<typeof profileShape>): Profile {
  const named = (kind: StatusKind) => Object.keys(data.statuses).filter((status) => data.statuses[status] === kind);
  const field = (name: string): string => data.fields[name] ?? name;
  const sign = data.zone.startsWith('-') ? -1 : 1;
  return {
    ...data,
    operations: withFurtherRoutes(data.operations),
    field,
    named: (record) => {
      const written: Fields = {};
      for (const name in record) written[field(name)] = record[name];
      return written;
    },
    statusName: (kind) => named(kind).at(-1) ?? kind.toUpperCase(),
    exportStatus: (kind) =>
      Object.keys(data.exportStatuses).findLast((status) => data.exportStatuses[status] === kind) ?? kind.toUpperCase(),
    intermediateStatuses: [...named('uploading'), ...named('processing')],
    zoneMinutes: sign * (Number(data.zone.slice(1, 3)) * 60 + Number(data.zone.slice(4, 6))),
  };
}
