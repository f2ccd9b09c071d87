import { parseArgs } from 'node:util';
import { SILENT, LIVELY, type CounterpartyKnobs } from './counterparties/knobs.js';
import { INNER_ERRORS, type InnerErrors } from './checks/reasons.js';
import { knobRates, numberBetween, oneOf, onOff, profileName, type Reader } from './flag-readers.js';

/** What the sandbox is started with. Every field has a default, so `{}` is a sandbox on free ports. */
export interface SandboxOptions {
  /** Port of the registry itself, on loopback; 0 takes a free one. */
  port?: number;
  /** Port of the control server, always on loopback; 0 takes a free one. */
  controlPort?: number;
  /** All that is random comes from it, but for secrets. */
  seed?: number;
  /** How many virtual milliseconds pass in a real one. */
  speed?: number;
  /** Folder of the journal. Without it the state ends with the process. */
  dataDir?: string;
  /** Name of the profile that the routes, field names, statuses and intervals come from. */
  profile?: string;
  /** JSON file whose fields replace those of the profile: the one that clients get as REGISTRY_PROFILE_OVERRIDES. */
  profileOverrides?: string;
  /** Whether call intervals are enforced. */
  limits?: boolean;
  /** One interval for every method instead of the profile's. */
  intervalMs?: number;
  /** Mean time from acceptance to the final status, on the virtual clock; spread by seed. */
  processingMs?: number;
  /** How far it is spread: from half to one and a half of the mean, or from nothing to twice the mean. */
  processingSpread?: 'half' | 'full';
  /** Language of error texts. */
  language?: 'ru' | 'en';
  /** Whether a 429 carries a Retry-After header. */
  retryAfter?: boolean;
  /** Base of the links to receipts and documents; by default the host that the caller asked. */
  linkBase?: string;
  /**
   * Longest JSON body of a send, in bytes. Clients of the real system count on 1,048,576; later versions take 2 MiB of
   * base64 (public-facts 1.2).
   */
  sendBytes?: number;
  /**
   * Whether the parts of an upload keep the interval of other calls. Known clients send them back to back.
   */
  uploadParts?: 'paced' | 'back-to-back';
  /** Whether the registry speaks TLS, by a certificate of an authority of its own. */
  tls?: boolean;
  /** Another world than the built-in one. */
  worldFile?: string;
  /** Most packs that may be touched before the sandbox refuses documents: a laptop's memory is finite. */
  maxPacks?: number;
  /** Mean time from ordering an export to its end, on the virtual clock; spread as processing is. */
  exportMs?: number;
  /** How old the rows of an export of packs are, on the virtual clock. */
  packExportAgeMs?: number;
  /** How products carry their name: prod_sell_name, the deprecated prod_desc_label, or both. */
  productLabel?: 'new' | 'old' | 'both';
  /** How a list of one entry comes in the answers of registries. */
  singleAs?: 'array' | 'object';
  /**
   * What packs in a full hierarchy call their status and series: status and batch, or internal_state and series_number.
   */
  leafNames?: 'status' | 'internal_state';
  /** How documents write dates: with a blank, with a T, or every other document with a T (public-facts 1.2). */
  listDates?: 'blank' | 'T' | 'both';
  /**
   * What records of packs tell: the place of own ones too, which the public facts do not list; what those list; or as
   * older answers, in which a public record has neither status, kind of emission, place nor unit (public-facts 1.3).
   */
  packRecords?: 'full' | 'facts' | 'old';
  /** In which order documents stand in lists, by their date: the interface names none. */
  listOrder?: 'newest' | 'oldest';
  /**
   * Behind which status a receipt lies: Rejected behind FAILED_RESULT_READY and the others behind PROCESSED; all behind
   * PROCESSED; or, of every other document, the other way round (public-facts 3.1).
   */
  receiptStatus?: 'by-result' | 'processed' | 'mixed';
  /** What becomes of a second send under a request_id: it is refused, or makes a second document. */
  repeatedRequestId?: 'refuse' | 'take';
  /** How a document ends whose bytes were accepted before: FAILED, or rejected with code 200 (public-facts 5). */
  identicalDocument?: 'failed' | 'rejected';
  /** Rate at which every misbehaviour knob strikes, 0 to 1 (misbehaviour/knobs.ts). */
  misbehave?: number;
  /** Rates of single knobs, above `misbehave`. */
  knobs?: Record<string, number>;
  /**
   * Longest time for which `land_late` holds a send back at a rate, in ms, less than the profile's unknownGraceMs.
   * Without it 2 s, and at most a third of that grace.
   */
  landLateMs?: number;
  /** What simulated participants do by themselves. */
  counterparties?: CounterpartyKnobs;
  /** What an error names when a pack inside a listed container is wrong: the container, the pack, or nothing. */
  innerErrors?: InnerErrors;
  /** Whether a partial result stops a group as an error does. */
  partialStopsGroup?: boolean;
  /** What members show that are not in work: the interface names no status for them (groups/groups.ts). */
  groupStatuses?: 'plain' | 'other';
  /** Whether moves between own places are told to the own participant (629, 630, 634). */
  tellOwnMoves?: boolean;
}

export type SandboxSettings = Required<Omit<SandboxOptions, Absent>> & Pick<SandboxOptions, Absent>;
/** What has no default. */
type Absent = 'dataDir' | 'intervalMs' | 'linkBase' | 'worldFile' | 'profileOverrides' | 'landLateMs';

const DEFAULTS = {
  port: 0,
  controlPort: 0,
  seed: 1,
  speed: 1,
  profile: 'interface-v1',
  limits: true,
  processingMs: 1000,
  processingSpread: 'half',
  language: 'ru',
  retryAfter: false,
  sendBytes: 1_048_576,
  uploadParts: 'paced',
  tls: false,
  maxPacks: 8_000_000,
  exportMs: 30_000,
  packExportAgeMs: 12 * 3_600_000,
  productLabel: 'new',
  singleAs: 'array',
  leafNames: 'status',
  listDates: 'blank',
  packRecords: 'full',
  listOrder: 'newest',
  receiptStatus: 'by-result',
  repeatedRequestId: 'refuse',
  identicalDocument: 'failed',
  misbehave: 0,
  knobs: {},
  counterparties: SILENT,
  innerErrors: 'container',
  partialStopsGroup: true,
  groupStatuses: 'plain',
  tellOwnMoves: false,
} as const;

/** What differs when the sandbox is started as a program: others trade. No call is spoilt unless that is asked for. */
export const PROGRAM_DEFAULTS = { counterparties: LIVELY } as const;

/** A flag whose `value` is empty stands alone and means on. */
const FLAGS: Record<keyof SandboxOptions, { flag: string; value: string; does: string; read: Reader }> = {
  port: {
    flag: 'port',
    value: 'N',
    does: 'port of the registry, on loopback; 0 takes a free one (default 0)',
    read: numberBetween(0, 65_535),
  },
  controlPort: {
    flag: 'control-port',
    value: 'N',
    does: 'port of the control server, on loopback (default 0)',
    read: numberBetween(0, 65_535),
  },
  seed: {
    flag: 'seed',
    value: 'N',
    does: 'processing times and document ids follow from it (default 1)',
    read: numberBetween(0, 4_294_967_295),
  },
  speed: {
    flag: 'speed',
    value: 'N',
    does: 'virtual milliseconds in a real one (default 1)',
    read: numberBetween(0.001, 1_000_000, false),
  },
  dataDir: {
    flag: 'data',
    value: 'DIR',
    does: 'folder of the journal; without it the state ends with the process',
    read: (text) => text,
  },
  profile: { flag: 'profile', value: 'NAME', does: 'interface-v1 or mdlp (default interface-v1)', read: profileName },
  profileOverrides: {
    flag: 'profile-overrides',
    value: 'FILE',
    does: 'JSON whose fields replace those of the profile',
    read: (text) => text,
  },
  limits: {
    flag: 'limits',
    value: 'on|off',
    does: 'whether a call that comes too soon gets 429 (default on)',
    read: onOff,
  },
  intervalMs: {
    flag: 'interval-ms',
    value: 'MS',
    does: "one interval for every method, instead of the profile's",
    read: numberBetween(0, 3_600_000),
  },
  processingMs: {
    flag: 'processing-ms',
    value: 'MS',
    does: 'mean processing time, virtual (default 1000)',
    read: numberBetween(0, 86_400_000),
  },
  processingSpread: {
    flag: 'processing-spread',
    value: 'half|full',
    does: 'how far that is spread (default half)',
    read: oneOf('half', 'full'),
  },
  language: { flag: 'language', value: 'ru|en', does: 'language of error texts (default ru)', read: oneOf('ru', 'en') },
  retryAfter: {
    flag: 'retry-after',
    value: 'on|off',
    does: 'whether a 429 carries Retry-After (default off)',
    read: onOff,
  },
  linkBase: {
    flag: 'link-base',
    value: 'URL',
    does: 'base of the links to receipts and documents',
    read: (text) => text.replace(/\/+$/, ''),
  },
  sendBytes: {
    flag: 'send-bytes',
    value: 'N',
    does: 'longest JSON body of a send (default 1048576; 2162688 leaves room for 2 MiB of base64)',
    read: numberBetween(1_000, 64 << 20),
  },
  uploadParts: {
    flag: 'upload-parts',
    value: 'paced|back-to-back',
    does: 'whether parts of an upload keep an interval (default paced)',
    read: oneOf('paced', 'back-to-back'),
  },
  tls: { flag: 'tls', value: '', does: 'the registry speaks TLS; the start line names its authority', read: onOff },
  worldFile: { flag: 'world', value: 'FILE', does: 'another world than the built-in one', read: (text) => text },
  maxPacks: {
    flag: 'max-packs',
    value: 'N',
    does: 'packs that may be touched before sends get 503 (default 8000000)',
    read: numberBetween(1, 16_000_000),
  },
  exportMs: {
    flag: 'export-ms',
    value: 'MS',
    does: 'mean time of an export, virtual (default 30000)',
    read: numberBetween(0, 86_400_000),
  },
  packExportAgeMs: {
    flag: 'pack-export-age-ms',
    value: 'MS',
    does: 'age of the rows in an export of packs, virtual (default 43200000)',
    read: numberBetween(0, 86_400_000),
  },
  productLabel: {
    flag: 'product-label',
    value: 'new|old|both',
    does: 'how products carry their name (default new)',
    read: oneOf('new', 'old', 'both'),
  },
  singleAs: {
    flag: 'single-as',
    value: 'array|object',
    does: 'how a list of one entry comes (default array)',
    read: oneOf('array', 'object'),
  },
  leafNames: {
    flag: 'leaf-names',
    value: 'status|internal_state',
    does: 'names of the fields of packs in a full hierarchy (default status)',
    read: oneOf('status', 'internal_state'),
  },
  listDates: {
    flag: 'list-dates',
    value: 'blank|T|both',
    does: 'what stands between day and time of documents in lists (default blank)',
    read: oneOf('blank', 'T', 'both'),
  },
  packRecords: {
    flag: 'pack-records',
    value: 'full|facts|old',
    does: 'what records of packs tell: own places too, what the public facts list, or less (default full)',
    read: oneOf('full', 'facts', 'old'),
  },
  listOrder: {
    flag: 'list-order',
    value: 'newest|oldest',
    does: 'which documents come first in lists (default newest)',
    read: oneOf('newest', 'oldest'),
  },
  receiptStatus: {
    flag: 'receipt-status',
    value: 'by-result|processed|mixed',
    does: 'behind which status a receipt lies (default by-result: Rejected behind FAILED_RESULT_READY)',
    read: oneOf('by-result', 'processed', 'mixed'),
  },
  repeatedRequestId: {
    flag: 'repeated-request-id',
    value: 'refuse|take',
    does: 'whether a second send of a request_id makes a second document (default refuse)',
    read: oneOf('refuse', 'take'),
  },
  identicalDocument: {
    flag: 'identical-document',
    value: 'failed|rejected',
    does: 'how the same bytes end a second time: FAILED, or rejected with code 200 (default failed)',
    read: oneOf('failed', 'rejected'),
  },
  misbehave: {
    flag: 'misbehave',
    value: 'RATE',
    does: 'of every knob of misbehaviour, 0 to 1 (default 0: no call is spoilt)',
    read: numberBetween(0, 1, false),
  },
  knobs: { flag: 'knob', value: 'NAME=RATE', does: 'of one knob; may be repeated', read: knobRates },
  landLateMs: {
    flag: 'land-late-ms',
    value: 'MS',
    does: 'longest time for which a send is held back',
    read: numberBetween(1, 3_600_000),
  },
  counterparties: {
    flag: 'counterparties',
    value: 'on|off',
    does: 'whether others act by themselves (default on)',
    read: (text, name) => (onOff(text, name) ? LIVELY : SILENT),
  },
  innerErrors: {
    flag: 'inner-errors',
    value: 'container|pack|nothing',
    does: 'what an error names when a pack inside is wrong (default container)',
    read: oneOf(...INNER_ERRORS),
  },
  partialStopsGroup: {
    flag: 'partial-stops-group',
    value: 'on|off',
    does: 'whether a partial result stops a group (default on)',
    read: onOff,
  },
  groupStatuses: {
    flag: 'group-statuses',
    value: 'plain|other',
    does: 'what members show that are not in work (default plain)',
    read: oneOf('plain', 'other'),
  },
  tellOwnMoves: {
    flag: 'tell-own-moves',
    value: 'on|off',
    does: 'whether moves between own places are told to the receiving place by 629, 630 and 634 (default off)',
    read: onOff,
  },
};

/**
 * Options of the program from its arguments and, where a flag is absent, from `SANDBOX_<FLAG>` in the environment.
 * Throws an Error that names the flag or variable at fault.
 */
export function parseOptions(args: string[], environment: Record<string, string | undefined>): SandboxOptions {
  const options = Object.fromEntries(
    Object.values(FLAGS).map(({ flag, value }) => [
      flag,
      { type: value === '' ? ('boolean' as const) : ('string' as const), multiple: flag === 'knob' },
    ]),
  );
  const { values } = parseArgs({ args, options, strict: true, allowPositionals: false });
  const parsed: Record<string, unknown> = {};
  for (const [name, { flag, read }] of Object.entries(FLAGS)) {
    const variable = `SANDBOX_${flag.toUpperCase().replaceAll('-', '_')}`;
    const given = values[flag];
    const fromFlag = textOf(given);
    const text = fromFlag ?? environment[variable];
    if (text !== undefined && text !== '') parsed[name] = read(text, fromFlag === undefined ? variable : `--${flag}`);
  }
  return parsed as SandboxOptions;
}

function textOf(given: string | boolean | (string | boolean)[] | undefined): string | undefined {
  if (Array.isArray(given)) return given.join(',');
  return given === true ? 'on' : (given as string | undefined);
}

/** What the program takes, as `--help` prints it. */
export function usage(): string {
  const lines = Object.values(FLAGS).map(({ flag, value, does }) => [`--${flag} ${value}`.trimEnd(), does] as const);
  const width = Math.max(...lines.map(([flag]) => flag.length));
  return [
    'Usage: pedigree sandbox [flags]',
    '',
    'The registry on a laptop, until a signal. Each flag may also be set as SANDBOX_<FLAG>',
    'in the environment, for example SANDBOX_CONTROL_PORT.',
    'It prints one line of JSON with its addresses, and one sentence. docs/sandbox-clients.md leads',
    'from here to the first accepted document.',
    '',
    ...lines.map(([flag, does]) => `  ${flag.padEnd(width)}  ${does}`),
    `  ${'--help, --version'.padEnd(width)}  print this, or the version, and end`,
  ].join('\n');
}

/** The options with every default filled in. */
export const withDefaults = (options: SandboxOptions): SandboxSettings => ({ ...DEFAULTS, ...options });
