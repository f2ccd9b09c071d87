import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { allSchemas } from '../../apps/cli/src/schemas.js';
import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { sandboxProcess } from '../../apps/cli/src/stack/sandbox-process.js';
import { gatewayConfig } from '../../apps/gateway/src/config.js';
import { startGateway, type RunningGateway } from '../../apps/gateway/src/gateway.js';
import { startSandbox, type SandboxOptions } from '../../apps/sandbox/src/main.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker, type RunningWorker } from '../../apps/worker/src/worker.js';
import type { BUILT_IN_PROFILES, ProfileOverrides } from '#registry-client';
import type { Role } from '#rights';
import { caughtUp } from '../support/caught-up.js';
import { testDatabase, type TestDatabase } from '../support/database.js';
import { askControl } from '../support/sandbox-control.js';
import { programRoles, type ProgramRoles } from '../support/program-roles.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { buildPrograms } from './built-programs.js';

export type ProfileName = (typeof BUILT_IN_PROFILES)[number];

type Wait = 'statusAfterSendMs' | 'receiptAfterStatusMs' | 'statusPollMs' | 'receiptPollMs';

/** Those of the profile. */
export const TRUE_WAITS = {};
const SHORT_WAITS: Record<Wait, number> = {
  statusAfterSendMs: 300,
  receiptAfterStatusMs: 300,
  statusPollMs: 300,
  receiptPollMs: 300,
};

export interface StackOptions {
  /** The registry: options of a sandbox in this process, or flags of one that is a process of its own. */
  sandbox: SandboxOptions | string[];
  profile?: ProfileName;
  overrides?: ProfileOverrides;
  /**
   * How long the registry wants to be left alone, for both sides alike: the sandbox judges by it, too. Short ones where
   * nothing is said; `TRUE_WAITS` are the 3 s and 5 s of the interface.
   */
  waits?: Partial<Record<Wait, number>>;
  /** True: the sandbox judges by the overrides as well. */
  sharesOverrides?: boolean;
  /** Each program by a role of its own, with its rights alone. */
  roles?: boolean;
  /** Further variables of gateway and worker, or others than the usual ones. */
  env?: Record<string, string>;
}

/** What a scenario runs on. */
export interface Stack {
  db: TestDatabase;
  /** Where each program has a role of its own. */
  roles: ProgramRoles | undefined;
  /** Path of a folder of its own, which goes with it. */
  folder: string;
  /** The variables that gateway and worker were started with. */
  env: Record<string, string>;
  sandbox: { url: string; controlUrl: string };
  gateway: RunningGateway;
  /** Whoever stops it puts another in its place. */
  worker: RunningWorker;
  client: GatewayClient;
  /** Asks the sandbox's control port, with a body to tell it something. A refusal throws. */
  control<T>(path: string, body?: object): Promise<T>;
  /** Waits until lists and histories show all that has happened. */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}
type Stop = () => Promise<void>;

/**
 * A sandbox, and a gateway and a worker in this process, over a database of their own. What was started is stopped when
 * the rest cannot be.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const stops: Stop[] = [];
  const stop: Stop = async () => {
    for (const one of stops.splice(0).reverse()) await one();
  };
  try {
    return await started(options, stops, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

function writeFiles(
  folder: string,
  { overrides = {}, waits = SHORT_WAITS, sharesOverrides = false }: StackOptions,
): Record<'key' | 'overrides' | 'registry', string> {
  const files = {
    key: join(folder, 'key'),
    overrides: join(folder, 'overrides.json'),
    registry: join(folder, 'registry.json'),
  };
  writeFileSync(files.key, 'ab'.repeat(32));
  const ours = { ...overrides, rules: { ...waits, ...(overrides.rules as object | undefined) } };
  writeFileSync(files.overrides, JSON.stringify(ours));
  writeFileSync(files.registry, JSON.stringify(sharesOverrides ? ours : { rules: waits }));
  return files;
}

async function startRegistry(
  wanted: StackOptions['sandbox'],
  judged: { profile: ProfileName; profileOverrides: string },
  folder: string,
): Promise<Stack['sandbox'] & { stop: Stop }> {
  if (!Array.isArray(wanted)) return startSandbox({ ...judged, ...wanted });
  await buildPrograms();
  return sandboxProcess({ ...judged, dataDir: join(folder, 'sandbox'), flags: wanted });
}

const ofProgram = (role: Role, env: Record<string, string>, roles: ProgramRoles | undefined) =>
  roles === undefined ? env : { ...env, DATABASE_URL: roles.url(role) };

async function started(options: StackOptions, stops: Stop[], stop: Stop): Promise<Stack> {
  const folder = await temporaryFolder();
  stops.push(() => folder.remove());
  const db = await testDatabase(allSchemas());
  stops.push(() => db.drop());
  const { profile = 'interface-v1', env: more = {} } = options;
  const files = writeFiles(folder.path, options);
  const sandbox = await startRegistry(options.sandbox, { profile, profileOverrides: files.registry }, folder.path);
  stops.push(() => sandbox.stop());
  const env: Record<string, string> = {
    DATABASE_URL: db.url,
    PORT: '0',
    LOG_LEVEL: 'silent',
    REGISTRY_URL: sandbox.url,
    REGISTRY_PROFILE: profile,
    REGISTRY_PROFILE_OVERRIDES: files.overrides,
    PEDIGREE_KEY_FILE: files.key,
    PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')),
    PEDIGREE_SUSPENDED_LIST_MINUTES: 'off',
    ...more,
  };
  const roles = options.roles === true ? await programRoles(db) : undefined;
  stops.push(async () => roles?.drop());
  const gateway = await startGateway(gatewayConfig(ofProgram('gateway', env, roles)));
  stops.push(() => gateway.stop());
  const stack: Stack = {
    ...{ db, folder: folder.path, env, sandbox, gateway, roles },
    worker: await startWorker(workerConfig(ofProgram('worker', env, roles))),
    client: new GatewayClient(gateway.url),
    stop,
    control: (path, body) => askControl(sandbox.controlUrl, path, body),
    caughtUp: () => caughtUp(gateway.url),
  };
  stops.push(() => stack.worker.stop());
  return stack;
}
