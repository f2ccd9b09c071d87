import { parseArgs } from 'node:util';

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
  /** Whether call intervals are enforced. */
  limits?: boolean;
  /** One interval for every method instead of the profile's. */
  intervalMs?: number;
  /** Mean time from acceptance to the final status, on the virtual clock; spread by seed from half to one and a half of it. */
  processingMs?: number;
  /** Language of error texts. */
  language?: 'ru' | 'en';
  /** Whether a 429 carries a Retry-After header. */
  retryAfter?: boolean;
  /** Base of the links to receipts and documents; by default the host that the caller asked. */
  linkBase?: string;
  /** Another world than the built-in one. */
  worldFile?: string;
  /** Most packs that may be touched before the sandbox refuses documents: a laptop's memory is finite. */
  maxPacks?: number;
}

export type SandboxSettings = Required<Omit<SandboxOptions, 'dataDir' | 'intervalMs' | 'linkBase' | 'worldFile'>> &
  Pick<SandboxOptions, 'dataDir' | 'intervalMs' | 'linkBase' | 'worldFile'>;

export const DEFAULTS = {
  port: 0,
  controlPort: 0,
  seed: 1,
  speed: 1,
  profile: 'interface-v1',
  limits: true,
  processingMs: 1000,
  language: 'ru',
  retryAfter: false,
  maxPacks: 8_000_000,
} as const;

type Reader = (text: string, name: string) => string | number | boolean;

const FLAGS: Record<keyof SandboxOptions, { flag: string; read: Reader }> = {
  port: { flag: 'port', read: numberBetween(0, 65_535) },
  controlPort: { flag: 'control-port', read: numberBetween(0, 65_535) },
  seed: { flag: 'seed', read: numberBetween(0, 4_294_967_295) },
  speed: { flag: 'speed', read: numberBetween(0.001, 1_000_000, false) },
  dataDir: { flag: 'data', read: (text) => text },
  profile: { flag: 'profile', read: profileName },
  limits: { flag: 'limits', read: onOff },
  intervalMs: { flag: 'interval-ms', read: numberBetween(0, 3_600_000) },
  processingMs: { flag: 'processing-ms', read: numberBetween(0, 86_400_000) },
  language: { flag: 'language', read: oneOf('ru', 'en') },
  retryAfter: { flag: 'retry-after', read: onOff },
  linkBase: { flag: 'link-base', read: (text) => text.replace(/\/+$/, '') },
  worldFile: { flag: 'world', read: (text) => text },
  maxPacks: { flag: 'max-packs', read: numberBetween(1, 16_000_000) },
};

/**
 * Options of the program from its arguments and, where a flag is absent, from `SANDBOX_<FLAG>` in the environment.
 * Throws an Error that names the flag or variable at fault.
 */
export function parseOptions(args: string[], environment: Record<string, string | undefined>): SandboxOptions {
  const options = Object.fromEntries(Object.values(FLAGS).map(({ flag }) => [flag, { type: 'string' as const }]));
  const { values } = parseArgs({ args, options, strict: true, allowPositionals: false });
  const parsed: Record<string, string | number | boolean> = {};
  for (const [name, { flag, read }] of Object.entries(FLAGS)) {
    const variable = `SANDBOX_${flag.toUpperCase().replaceAll('-', '_')}`;
    const fromFlag = values[flag] as string | undefined;
    const text = fromFlag ?? environment[variable];
    if (text !== undefined && text !== '') parsed[name] = read(text, fromFlag === undefined ? variable : `--${flag}`);
  }
  return parsed as SandboxOptions;
}

/** The options with every default filled in. */
export const withDefaults = (options: SandboxOptions): SandboxSettings => ({ ...DEFAULTS, ...options });

function numberBetween(least: number, most: number, whole = true): Reader {
  return (text, name) => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value) || value < least || value > most || (whole && !Number.isInteger(value))) {
      throw new Error(`${name} must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}, not "${text}"`);
    }
    return value;
  };
}

function onOff(text: string, name: string): boolean {
  if (text === 'on' || text === 'true') return true;
  if (text === 'off' || text === 'false') return false;
  throw new Error(`${name} must be on or off, not "${text}"`);
}

function oneOf(...allowed: string[]): Reader {
  return (text, name) => {
    if (allowed.includes(text)) return text;
    throw new Error(`${name} must be one of ${allowed.join(', ')}, not "${text}"`);
  };
}

function profileName(text: string, name: string): string {
  if (/^[a-z0-9][a-z0-9.-]*$/.test(text)) return text;
  throw new Error(`${name} must be the name of a profile, not "${text}"`);
}
