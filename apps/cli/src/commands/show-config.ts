import { defined, PedigreeError } from '#kernel';
import { addressWithoutSecrets, serverWithoutSecrets } from '#service';
import { cliConfig } from '../config.js';
import type { GatewayClient } from '../gateway-client.js';
import { instant, out, table } from '../print.js';
import { PROGRAMS } from '../programs.js';

/**
 * Prints the configuration in force as JSON, with every secret left out: of the command line and `up`, or of one
 * program.
 */
export async function showConfig(env: NodeJS.ProcessEnv, program?: string): Promise<number> {
  out(JSON.stringify(await (program === undefined ? ownConfig(env) : configOf(env, program)), null, 2));
  return 0;
}

async function configOf(env: NodeJS.ProcessEnv, name: string): Promise<object> {
  const entry = PROGRAMS[name];
  if (entry === undefined)
    throw new PedigreeError(
      'invalid_configuration',
      `no program is named ${name}; known are ${Object.keys(PROGRAMS).join(', ')}`,
      { item: name },
    );
  return entry.describe(env);
}

async function ownConfig(env: NodeJS.ProcessEnv): Promise<object> {
  const config = cliConfig(env);
  const { checkConfigFiles } = await import('../config-files.js');
  const { apiKey, environment: _, ...rest } = config;
  return {
    ...rest,
    registryUrl: shown(config.registryUrl),
    registryControlUrl: shown(config.registryControlUrl),
    gatewayUrl: shown(config.gatewayUrl),
    databaseUrl: shown(config.databaseUrl) ?? 'embedded',
    eventStoreUrl: serverWithoutSecrets(config.eventStoreUrl),
    apiKey: apiKey === undefined ? 'none' : 'set',
    accounts: checkConfigFiles(config),
  };
}

const shown = (address: string | undefined): string | undefined =>
  address === undefined ? undefined : addressWithoutSecrets(address);

export interface HistoryOptions {
  history?: boolean;
  limit: string;
  json?: boolean;
}

interface Change {
  at: string;
  program: string;
  part: string;
  actor: { name: string };
  reason: string;
  fromDigest?: string;
  fields: number;
  changes: { field: string; from?: unknown; to?: unknown }[];
  changesLeftOut?: number;
}

/** Fields of one change that a table for people shows; JSON has more. */
const MOST_SHOWN = 20;

/** Prints what programs were set to, newest first: when, who, why, and each field from what to what. */
export async function showConfigHistory(
  gateway: GatewayClient,
  program: string | undefined,
  { limit, json }: HistoryOptions,
): Promise<number> {
  const query = new URLSearchParams({ limit, ...defined({ program }) });
  const path = `/v1/operations/configuration?${query.toString()}`;
  if (json === true) out(JSON.stringify(await gateway.raw(path)));
  else {
    const { items } = await gateway.get<{ items: Change[] }>(path);
    const rows = items.map((one) => [instant(one.at), one.program, one.part, one.actor.name, one.reason, linesOf(one)]);
    out(table(['at', 'program', 'part', 'who', 'why', 'what'], rows));
  }
  return 0;
}

function linesOf({ fromDigest, fields, changes, changesLeftOut = 0 }: Change): string {
  if (fromDigest === undefined) return `recorded for the first time, ${fields} fields`;
  const lines = changes.slice(0, MOST_SHOWN).map(({ field, from, to }) => `${field}: ${said(from)} -> ${said(to)}`);
  const more = changes.length - lines.length + changesLeftOut;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

const said = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
