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
  start: async ({ log, health, healthPort }) => {
    const reconciler = await startReconciler(config, log);
    const metrics = new Metrics({ program: 'reconciler', version: SOFTWARE_VERSION, profile: '' });
    serveMetrics(metrics, healthPort, health);
    return reconciler;
  },
});

export const reconcilerLine: ProgramLine = {
  name: 'reconciler',
  version: SOFTWARE_VERSION,
  variables: reconcilerVariables,
  make: (env) => reconcilerProgram(reconcilerConfig(env)),
};
