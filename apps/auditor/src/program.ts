import { SOFTWARE_VERSION } from '#event-store';
import { optionalDependency, postgresDependency, type Program, type ProgramLine } from '#service';
import { openWatching, serveMetrics } from '#telemetry';
import { auditorLog, startAuditor } from './auditor.js';
import { auditorConfig, auditorVariables, type AuditorConfig } from './config.js';

/** The auditor as a program of its own: `pedigree auditor`. One seals, further ones stand by. */
export const auditorProgram = (config: AuditorConfig): Program => ({
  name: 'auditor',
  log: auditorLog(config),
  health: { port: config.healthPort, host: config.healthHost },
  dependencies: [postgresDependency(config.databaseUrl), ...optionalDependency('eventstore', config.eventStoreUrl)],
  start: async ({ log, health, healthPort }) => {
    const auditor = await startAuditor(config, log);
    health.degradedBy(() => auditor.troubles());
    serveMetrics(
      openWatching({ program: 'auditor', version: SOFTWARE_VERSION, profile: '', otlpEndpoint: undefined }).metrics,
      healthPort,
      health,
    );
    return auditor;
  },
});

export const auditorLine: ProgramLine = {
  name: 'auditor',
  version: SOFTWARE_VERSION,
  variables: auditorVariables,
  make: (env) => auditorProgram(auditorConfig(env)),
};
