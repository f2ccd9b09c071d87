import { SOFTWARE_VERSION } from '#event-store';
import { optionalDependency, postgresDependency, type Program, type ProgramLine } from '#service';
import { Metrics, serveMetrics } from '#telemetry';
import { reconcilerConfig, reconcilerVariables, type ReconcilerConfig } from './config.js';
import { reconcilerLog, startReconciler } from './reconciler.js';

/** The reconciler as a program of its own: `pedigree reconciler`. Any number of them; each run is made by one. */
export const reconcilerProgram = (config: ReconcilerConfig): Program => ({
  name: 'reconciler',
  log: reconcilerLog(config),
  health: { port: config.healthPort, host: config.healthHost },
  dependencies: [postgresDependency(config.databaseUrl), ...optionalDependency('eventstore', config.eventStoreUrl)],
  open: async ({ health, healthPort, log }) => {
    // From the first moment on, also of what it waits for.
    const onError = (err: unknown): void => log.warn({ err }, 'could not read a metric');
    const metrics = new Metrics({ program: 'reconciler', version: SOFTWARE_VERSION, profile: '', onError });
    serveMetrics(metrics, healthPort, health);
    return undefined;
  },
  start: async ({ log, health }) => {
    const reconciler = await startReconciler(config, log);
    health.degradedBy(() => reconciler.troubles());
    return reconciler;
  },
});

export const reconcilerLine: ProgramLine = {
  name: 'reconciler',
  version: SOFTWARE_VERSION,
  variables: reconcilerVariables,
  make: (env) => reconcilerProgram(reconcilerConfig(env)),
};
