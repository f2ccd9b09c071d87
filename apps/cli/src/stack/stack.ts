import { startAuditor, type RunningAuditor } from '../../../auditor/src/auditor.js';
import { auditorConfig } from '../../../auditor/src/config.js';
import { gatewayConfig } from '../../../gateway/src/config.js';
import { startGateway, type RunningGateway } from '../../../gateway/src/gateway.js';
import { reconcilerConfig } from '../../../reconciler/src/config.js';
import { startReconciler } from '../../../reconciler/src/reconciler.js';
import { workerConfig } from '../../../worker/src/config.js';
import { startWorker, type RunningWorker } from '../../../worker/src/worker.js';
import { openEventStore, type EventStore } from '#event-store';
import { defined, invalidConfiguration } from '#kernel';
import { openPool, tryLock, type EmbeddedPostgres, type Pool } from '#postgres';
import type { FailingSubscription } from '#subscriptions';
import { checkConfigFiles } from '../config-files.js';
import type { CliConfig } from '../config.js';
import { DataDir } from './data-dir.js';
import { ownAuditorEnvironment } from './auditor-environment.js';
import { oneAddress, ownRoles, type ProgramAddresses } from './own-roles.js';
import { sandboxProcess, type SandboxProcess } from './sandbox-process.js';
import { embeddedPostgres } from './with-database.js';

/** Everything that `up` runs, on embedded parts where none are named. */
export interface Stack {
  dataDir: DataDir;
  pool: Pool;
  store: EventStore;
  gateway: RunningGateway;
  worker: RunningWorker;
  registryUrl: string;
  /** Undefined for a registry that is not ours. */
  controlUrl: string | undefined;
  /** Subscriptions that fail again and again, and whose they are. */
  failing(): (FailingSubscription & { program: string })[];
  /** Where what is logged can be read. */
  logs: string;
  /** Stops everything, in the reverse order of its start. */
  stop(): Promise<void>;
}

export interface StackOptions {
  /** Says what is being started. */
  say(text: string): void;
  sandboxFlags?: string[];
}

/**
 * Key of the advisory lock that keeps a second `up` away from one DATA_DIR. The session holds it: it ends with the
 * process, however that ends.
 */
const UP_LOCK = 7_031_960_421;

/** What was started, so that it can be stopped in the reverse order. */
class Started {
  private readonly stops: (() => Promise<void>)[] = [];

  /** Notes it, and hands it on. */
  add<Part extends { stop(): Promise<void> }>(part: Part): Part {
    this.stops.push(() => part.stop());
    return part;
  }

  async stop(): Promise<void> {
    for (const one of this.stops.splice(0).reverse()) await one();
  }
}

/**
 * Starts PostgreSQL, the sandbox, the gateway, the worker, the auditor and the reconciler. When a step fails, what was
 * started is stopped again.
 */
export async function startStack(config: CliConfig, options: StackOptions): Promise<Stack> {
  checkConfigFiles(config);
  const started = new Started();
  try {
    return await startParts(config, options, started);
  } catch (error) {
    await started.stop();
    throw error;
  }
}

async function startParts(config: CliConfig, options: StackOptions, started: Started): Promise<Stack> {
  const dataDir = new DataDir(config.dataDir);
  dataDir.ensure();
  dataDir.ensureKey(config.keyFile);
  if (config.databaseUrl === undefined) options.say('starting PostgreSQL');
  const { addresses, pool } = await ownDatabase(config, dataDir, started);
  const store = await openEventStore({ pool, eventStoreUrl: config.eventStoreUrl });
  started.add({ stop: () => store.close() });
  const sandbox = config.registryUrl === undefined ? await ownSandbox(config, dataDir, options) : undefined;
  if (sandbox !== undefined) started.add(sandbox);
  const registryUrl = config.registryUrl ?? (sandbox as SandboxProcess).url;
  options.say('starting the gateway, the worker, the auditor and the reconciler');
  const env = environmentOf(config, registryUrl);
  const { gateway, worker, auditor } = await startPrograms(config, { env, addresses, dataDir, started });
  dataDir.writeAddress({ url: gateway.url, pid: process.pid });
  started.add({ stop: async () => dataDir.forgetAddress() });
  const sandboxLog = sandbox === undefined ? '' : ` and ${dataDir.file('sandbox')}/sandbox.log`;
  return {
    dataDir,
    pool,
    store,
    gateway,
    worker,
    registryUrl,
    controlUrl: sandbox?.controlUrl ?? config.registryControlUrl,
    failing: () =>
      Object.entries({ worker, auditor }).flatMap(([program, one]) =>
        one.subscriptions.failing().map((failed) => ({ ...failed, program })),
      ),
    logs: `standard error (LOG_LEVEL=info says more)${sandboxLog}`,
    stop: () => started.stop(),
  };
}

/** The database that the configuration names, or an embedded one; while this runs, no other `up` works on it. */
async function ownDatabase(
  config: CliConfig,
  dataDir: DataDir,
  started: Started,
): Promise<{ addresses: ProgramAddresses; pool: Pool }> {
  const postgres = config.databaseUrl === undefined ? await embeddedPostgres(dataDir) : undefined;
  const databaseUrl = config.databaseUrl ?? (postgres as EmbeddedPostgres).url;
  const pool = openPool({ connectionString: databaseUrl, maxConnections: 4, applicationName: 'pedigree-up' });
  const stopPostgres = { stop: async () => postgres?.stop() };
  const endPool = { stop: () => pool.end() };
  const unlock = await lockOut(pool, config.dataDir).catch(async (error: unknown) => {
    // A server that was running before us belongs to whoever holds the lock.
    started.add({ stop: async () => postgres?.leave() });
    started.add(endPool);
    throw error;
  });
  for (const one of [stopPostgres, endPool, { stop: unlock }]) started.add(one);
  const addresses =
    postgres === undefined ? oneAddress(databaseUrl) : await ownRoles(pool, databaseUrl, config.rolePrefix);
  return { addresses, pool };
}

interface ProgramParts {
  env: NodeJS.ProcessEnv;
  addresses: ProgramAddresses;
  dataDir: DataDir;
  started: Started;
}

async function startPrograms(
  config: CliConfig,
  { env, addresses, dataDir, started }: ProgramParts,
): Promise<{ gateway: RunningGateway; worker: RunningWorker; auditor: RunningAuditor }> {
  const of = (program: keyof ProgramAddresses): NodeJS.ProcessEnv => ({ ...env, DATABASE_URL: addresses[program] });
  const SEGMENTS_DIR = env['SEGMENTS_DIR'] ?? dataDir.file('segments');
  const gateway = started.add(await gatewayOnFreePort(config, { ...of('gateway'), SEGMENTS_DIR }));
  const worker = started.add(await startWorker(workerConfig(of('worker'))));
  const auditor = started.add(await startAuditor(auditorConfig(ownAuditorEnvironment(of('auditor'), dataDir))));
  started.add(await startReconciler(reconcilerConfig({ ...of('reconciler'), SEGMENTS_DIR })));
  return { gateway, worker, auditor };
}

async function ownSandbox(config: CliConfig, dataDir: DataDir, options: StackOptions): Promise<SandboxProcess> {
  options.say('starting the sandbox registry');
  return sandboxProcess({
    dataDir: dataDir.file('sandbox'),
    profile: config.registryProfile,
    ...defined({ profileOverrides: config.registryProfileOverrides, flags: options.sandboxFlags }),
  });
}

async function lockOut(pool: Pool, dataDir: string): Promise<() => Promise<void>> {
  const session = await pool.connect();
  if (!(await tryLock(session, UP_LOCK))) {
    session.release();
    throw invalidConfiguration(
      'DATA_DIR',
      `another pedigree is already up on ${dataDir}; stop it first, or choose another DATA_DIR`,
    );
  }
  return async () => session.release(true);
}

/** The apps read their own configuration from an environment: here it is, with what this program found out. */
function environmentOf(config: CliConfig, registryUrl: string): NodeJS.ProcessEnv {
  return {
    ...config.environment,
    REGISTRY_URL: registryUrl,
    REGISTRY_PROFILE: config.registryProfile,
    ...defined({ REGISTRY_PROFILE_OVERRIDES: config.registryProfileOverrides }),
    PEDIGREE_ACCOUNTS: config.accountsFile,
    SCHEMA_DIR: config.schemaDir,
    ...defined({ DEADLINE_CALENDAR: config.deadlineCalendar }),
    PEDIGREE_KEY_FILE: config.keyFile,
    PEDIGREE_PARTICIPANT: config.participant,
    LOG_LEVEL: config.logLevel,
    HOST: config.host,
    PORT: String(config.port),
  };
}

/** Port 8080 is a wish unless it was asked for: where it is taken, a free one will do. */
async function gatewayOnFreePort(config: CliConfig, env: NodeJS.ProcessEnv): Promise<RunningGateway> {
  try {
    return await startGateway(gatewayConfig(env));
  } catch (error) {
    if ((error as { cause?: { code?: string } }).cause?.code !== 'EADDRINUSE') throw error;
    if (config.portIsGiven) throw invalidConfiguration('PORT', `${config.port} is already in use on ${config.host}`);
    return startGateway(gatewayConfig({ ...env, PORT: '0' }));
  }
}
