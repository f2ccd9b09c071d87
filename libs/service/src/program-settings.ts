import { z } from 'zod';
import { addressWithoutSecrets, serverWithoutSecrets } from './address.js';

/** A URL, or clients of it would end in a stack trace; and nothing of it is told, for it may hold a password. */
export const urlOf = (schemes: RegExp, named: string) =>
  z
    .string()
    .regex(schemes, { error: `must begin with ${named}`, abort: true })
    .refine((text) => URL.canParse(text), 'is no URL; in a password write # as %23, / as %2F, ? as %3F and @ as %40');

/** PostgreSQL connection string. */
export const DATABASE_ADDRESS = urlOf(/^postgres(ql)?:\/\//, 'postgres:// or postgresql://');

/** The variables that gateway, worker, auditor and reconciler have in common, for the schema of their environment. */
export const PROGRAM_VARIABLES = {
  DATABASE_URL: DATABASE_ADDRESS,
  /**
   * Connection string of EventStoreDB or KurrentDB, for installations whose log has a server of its own. Absent: the
   * log lies in the database.
   */
  EVENTSTORE_URL: z
    .string()
    .regex(/^(esdb|kurrent|kurrentdb)(\+discover)?:\/\//, 'must begin with esdb:// or esdb+discover://')
    .optional(),
  /** The legal entity in whose name this installation speaks; goes into every event. */
  PEDIGREE_PARTICIPANT: z.string().min(1).max(100).default('own'),
  /** TCP port of health and metrics; 0 takes a free one, which the line on standard output names. */
  HEALTH_PORT: z.coerce.number().int().min(0).max(65_535).default(0),
  /** Address of the same. It is open to whoever reaches it, and tells nothing of the business. */
  HEALTH_HOST: z.string().min(1).default('127.0.0.1'),
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  /**
   * Who answers for the settings that this start brings; absent: the user of the operating system. Kept with every
   * change of settings.
   */
  PEDIGREE_CHANGED_BY: z.string().trim().min(1).max(200).optional(),
  /** Why the settings are as they are now; kept with every change that this start finds. */
  PEDIGREE_CHANGE_REASON: z.string().trim().min(3).max(1_000).optional(),
};

/** What the common variables say. */
export interface ProgramSettings {
  databaseUrl: string;
  eventStoreUrl: string | undefined;
  participant: string;
  healthPort: number;
  healthHost: string;
  logLevel: string;
  /** Who answers for a change of settings that this start finds, and why. */
  changedBy: string | undefined;
  changeReason: string | undefined;
}

type ProgramVariables = z.infer<z.ZodObject<typeof PROGRAM_VARIABLES>>;

export const programSettings = (data: ProgramVariables): ProgramSettings => ({
  databaseUrl: data.DATABASE_URL,
  eventStoreUrl: data.EVENTSTORE_URL,
  participant: data.PEDIGREE_PARTICIPANT,
  healthPort: data.HEALTH_PORT,
  healthHost: data.HEALTH_HOST,
  logLevel: data.LOG_LEVEL,
  changedBy: data.PEDIGREE_CHANGED_BY,
  changeReason: data.PEDIGREE_CHANGE_REASON,
});

/** What may be shown of them. Each field is named here, so that a new secret is not shown by itself. */
export const describeProgramSettings = (settings: ProgramSettings) => ({
  databaseUrl: addressWithoutSecrets(settings.databaseUrl),
  eventStoreUrl: serverWithoutSecrets(settings.eventStoreUrl),
  participant: settings.participant,
  healthPort: settings.healthPort,
  healthHost: settings.healthHost,
  logLevel: settings.logLevel,
});
