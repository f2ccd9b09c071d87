import { z } from 'zod';
import { namedCalendar, readCalendarFile, type CalendarFile } from '#read-models';
import { readAccounts, readEncryptionKey, readProfile, type Account, type Profile } from '#registry-client';
import {
  addressWithoutSecrets,
  describeProgramSettings,
  parseEnvironment,
  PROGRAM_VARIABLES,
  programSettings,
  readVariable,
  variablesOf,
  type ProgramSettings,
} from '#service';
import { mailVariables, readMailSettings, type MailSettings } from './mail/mail-settings.js';
import { readGatePolicies, type GatePolicies } from './gate/gate-policies.js';

/** No document names more items. */
const MOST_CONTENTS = 25_000;
const MINUTE_MS = 60_000;
const SUSPENDED_LIST_FORM = 'must be off or minutes from 0.01 to 1440';
const CONTENT_FETCH_FORM = `must be off or a whole number from 1 to ${MOST_CONTENTS}`;

const environment = z.object({
  ...PROGRAM_VARIABLES,
  /** Base address of the registry, without the profile's base path (/api/v1). */
  REGISTRY_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }),
  /** Name of a built-in profile. */
  REGISTRY_PROFILE: z.string().min(1).default('interface-v1'),
  /** JSON file whose fields override those of the profile. */
  REGISTRY_PROFILE_OVERRIDES: z.string().min(1).optional(),
  /** File with the registry accounts (JSON). */
  PEDIGREE_ACCOUNTS: z.string().min(1),
  /** File with the 32-byte key, as 64 hexadecimal digits, that encrypts tokens at rest. */
  PEDIGREE_KEY_FILE: z.string().min(1),
  /** Days for which the key of a task that is done is kept: for so long the same key again schedules nothing. */
  PEDIGREE_TASK_KEYS_KEPT_DAYS: z.coerce.number().int().min(30).max(36_500).default(400),
  /** Days for which the upload link of a large document is kept after the document was concluded. */
  PEDIGREE_UPLOAD_LINKS_KEPT_DAYS: z.coerce.number().int().min(1).max(36_500).default(30),
  /** Base address of an OpenTelemetry receiver (OTLP over HTTP). Absent: no traces are made. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  /**
   * Types of document, by number, that are ended at once when what they come after ends badly, for example `415,701`.
   * All others are held.
   */
  PEDIGREE_END_AT_ONCE_DOC_TYPES: z
    .string()
    .regex(/^\s*(\d{2,5}\s*(,\s*\d{2,5}\s*)*)?$/, 'must be numbers of document types with commas between them')
    .default(''),
  /**
   * A report of an accomplished fact (511, 521, 531, 552) that an earlier document of the same packs holds is released
   * so many hours after its registration, with a warning.
   */
  PEDIGREE_FACT_RELEASE_HOURS: z.coerce.number().min(0).max(8_760).default(24),
  /** And no later than so many hours before it is due. */
  PEDIGREE_FACT_LEAD_HOURS: z.coerce.number().min(0).max(720).default(4),
  /** JSON file with the calendar of deadlines, that of the gateway. Absent: nobody can tell when a document is due. */
  DEADLINE_CALENDAR: z.string().min(1).optional(),
  /**
   * What is done about a document whose packs' known state forbids it, by type: `refuse` holds it, `warn` sends it with
   * a warning, `off` does not look. For example `415=warn,511=refuse`; `all` stands for every type that has a rule.
   */
  PEDIGREE_SEQUENCE_GATE: z.string().default(''),
  /**
   * Most containers of one incoming document of which the registry is asked what lies in them, where our record does
   * not tell; `off`: of none.
   */
  PEDIGREE_CONTENT_FETCH: z
    .string()
    .regex(/^(off|[1-9]\d{0,4})$/, CONTENT_FETCH_FORM)
    .transform((text) => (text === 'off' ? 0 : Number(text)))
    .refine((most) => most <= MOST_CONTENTS, CONTENT_FETCH_FORM)
    .default(1_000),
  /**
   * Minutes from one reading of the registry's suspended packs and decisions to the next, fractions too; `off`: none is
   * made.
   */
  PEDIGREE_SUSPENDED_LIST_MINUTES: z
    .string()
    .refine((text) => text === 'off' || (Number(text) >= 0.01 && Number(text) <= 1_440), SUSPENDED_LIST_FORM)
    .transform((text) => (text === 'off' ? 0 : Number(text) * MINUTE_MS))
    .default(60 * MINUTE_MS),
  ...mailVariables,
  /** For so long a document may be held before the metric for the alert counts it. */
  PEDIGREE_HELD_ALERT_HOURS: z.coerce.number().positive().max(8_760).default(24),
});

export const workerVariables = variablesOf(environment);

export interface WorkerConfig extends ProgramSettings {
  otlpEndpoint: string | undefined;
  registryUrl: string;
  profile: Profile;
  accounts: Account[];
  encryptionKey: Buffer;
  taskKeysKeptDays: number;
  uploadLinksKeptDays: number;
  endAtOnceDocTypes: number[];
  heldAlertHours: number;
  factReleaseHours: number;
  factLeadHours: number;
  /** Absent: no calendar of deadlines is set. */
  calendarFile: CalendarFile | undefined;
  gatePolicies: GatePolicies;
  /** Most containers of one incoming document; 0: none. */
  contentFetch: number;
  /** 0: the list of suspended packs is not read. */
  suspendedListEveryMs: number;
  /** Whom changes of suspensions are mailed to; undefined: nobody. */
  mail: MailSettings | undefined;
}

/** Reads and checks the worker's configuration. Throws PedigreeError that names the variable. */
export function workerConfig(env: NodeJS.ProcessEnv): WorkerConfig {
  const data = parseEnvironment(environment, env);
  const { DEADLINE_CALENDAR: calendar } = data;
  return {
    ...programSettings(data),
    otlpEndpoint: data.OTEL_EXPORTER_OTLP_ENDPOINT,
    registryUrl: data.REGISTRY_URL.replace(/\/+$/, ''),
    profile: readProfile(data.REGISTRY_PROFILE, data.REGISTRY_PROFILE_OVERRIDES),
    accounts: readVariable('PEDIGREE_ACCOUNTS', () => readAccounts(data.PEDIGREE_ACCOUNTS, env)),
    encryptionKey: readVariable('PEDIGREE_KEY_FILE', () => readEncryptionKey(data.PEDIGREE_KEY_FILE)),
    taskKeysKeptDays: data.PEDIGREE_TASK_KEYS_KEPT_DAYS,
    uploadLinksKeptDays: data.PEDIGREE_UPLOAD_LINKS_KEPT_DAYS,
    endAtOnceDocTypes: data.PEDIGREE_END_AT_ONCE_DOC_TYPES.split(',')
      .filter((one) => one.trim() !== '')
      .map(Number),
    heldAlertHours: data.PEDIGREE_HELD_ALERT_HOURS,
    factReleaseHours: data.PEDIGREE_FACT_RELEASE_HOURS,
    factLeadHours: data.PEDIGREE_FACT_LEAD_HOURS,
    calendarFile:
      calendar === undefined ? undefined : readVariable('DEADLINE_CALENDAR', () => readCalendarFile(calendar)),
    contentFetch: data.PEDIGREE_CONTENT_FETCH,
    suspendedListEveryMs: data.PEDIGREE_SUSPENDED_LIST_MINUTES,
    mail: readMailSettings(data),
    gatePolicies: readVariable('PEDIGREE_SEQUENCE_GATE', () => readGatePolicies(data.PEDIGREE_SEQUENCE_GATE)),
  };
}

/** What may be shown of the configuration. Each field is named here, so that a new secret is not shown by itself. */
export function describeWorkerConfig(config: WorkerConfig) {
  const { taskKeysKeptDays, uploadLinksKeptDays, otlpEndpoint, endAtOnceDocTypes, calendarFile } = config;
  const { heldAlertHours, factReleaseHours, factLeadHours, contentFetch, suspendedListEveryMs } = config;
  return {
    ...describeProgramSettings(config),
    registryUrl: addressWithoutSecrets(config.registryUrl),
    profile: config.profile,
    accounts: config.accounts.map(({ name, userId, signer }) => ({ name, userId, signer: signer.kind })),
    otlpEndpoint: otlpEndpoint === undefined ? 'none' : addressWithoutSecrets(otlpEndpoint),
    taskKeysKeptDays,
    uploadLinksKeptDays,
    endAtOnceDocTypes,
    heldAlertHours,
    factReleaseHours,
    factLeadHours,
    deadlineCalendar: calendarFile === undefined ? 'none' : { ...namedCalendar(calendarFile) },
    contentFetch,
    suspendedListEveryMs,
    gatePolicies: Object.fromEntries(config.gatePolicies),
    mail: describedMail(config),
  };
}

function describedMail({ mail }: WorkerConfig) {
  if (mail === undefined) return 'none';
  const { host, port, tls, from, to, login } = mail;
  return { host, port, tls, from, to, user: login?.user ?? 'none' };
}
