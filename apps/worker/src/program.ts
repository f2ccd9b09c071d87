import { SOFTWARE_VERSION } from '#event-store';
import { optionalDependency, postgresDependency, tcpDependency, type Program, type ProgramLine } from '#service';
import { Metrics, type MetricsOptions, openWatching, serveMetrics } from '#telemetry';
import { workerConfig, workerVariables, type WorkerConfig } from './config.js';
import { restorationDependency } from './restoration/restoration-dependency.js';
import { startWorker, workerLog } from './worker.js';

const toldOf = ({ profile }: WorkerConfig): MetricsOptions => ({
  program: 'worker',
  version: SOFTWARE_VERSION,
  profile: profile.name,
});

/**
 * The worker as a program of its own: `pedigree worker`, as many as wanted. While the registry is away it takes
 * commands further and waits with the rest.
 */
export const workerProgram = (config: WorkerConfig): Program => ({
  name: 'worker',
  log: workerLog(config),
  health: { port: config.healthPort, host: config.healthHost },
  dependencies: [
    postgresDependency(config.databaseUrl),
    ...optionalDependency('eventstore', config.eventStoreUrl),
    tcpDependency('registry', config.registryUrl, { isRequired: false }),
    restorationDependency(
      config.databaseUrl,
      config.accounts.map((one) => one.name),
    ),
  ],
  open: async ({ health, healthPort }) => {
    // Until it has started it tells what it waits for: else no alert would.
    serveMetrics(new Metrics({ ...toldOf(config), isStartingUp: true }), healthPort, health);
    return undefined;
  },
  start: async ({ log, health, healthPort }) => {
    const onError = (error: unknown): void => log.warn({ err: error }, 'could not read a metric');
    const watching = await openWatching({ ...toldOf(config), otlpEndpoint: config.otlpEndpoint, onError });
    const worker = await startWorker(config, log, watching);
    health.degradedBy(() =>
      worker.pausedAccounts().map(({ account, cause, text, seenAt }) => ({
        name: `account ${account}`,
        since: seenAt.toISOString(),
        reason: `paused (${cause}): ${text}`,
      })),
    );
    health.degradedBy(() =>
      worker.failingSigners().map(({ account, since, reason }) => ({
        name: `signer of ${account}`,
        since: since.toISOString(),
        reason: `it signs nothing, so that its documents wait: ${reason}`,
      })),
    );
    health.degradedBy(() => worker.subscriptions.troubles());
    serveMetrics(watching.metrics, healthPort, health);
    return worker;
  },
});

export const workerLine: ProgramLine = {
  name: 'worker',
  version: SOFTWARE_VERSION,
  variables: workerVariables,
  make: (env) => workerProgram(workerConfig(env)),
};
