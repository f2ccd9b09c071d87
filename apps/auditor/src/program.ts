import { SOFTWARE_VERSION } from '#event-store';
import { optionalDependency, postgresDependency, type Dependency, type Program, type ProgramLine } from '#service';
import { Metrics, serveMetrics } from '#telemetry';
import { auditorLog, startAuditor, type RunningAuditor } from './auditor.js';
import { auditorConfig, auditorVariables, type AuditorConfig } from './config.js';
import { openLogPort } from './publication/log-port.js';
import type { SweepFigures } from './sweep/regular-sweep.js';
import { HistoryAlarm } from './memory/history-alarm.js';

/** The auditor as a program of its own: `pedigree auditor`. One seals, further ones stand by. */
export function auditorProgram(config: AuditorConfig): Program {
  const alarm = new HistoryAlarm();
  const running: { auditor?: RunningAuditor; metrics?: Metrics } = {};
  return {
    name: 'auditor',
    log: auditorLog(config),
    health: { port: config.healthPort, host: config.healthHost },
    dependencies: [
      postgresDependency(config.databaseUrl),
      ...optionalDependency('eventstore', config.eventStoreUrl),
      signedHistory(alarm, config.folder),
      ...witnessedHistory(config, () => running.auditor?.witnesses),
    ],
    open: async ({ health, healthPort, log }) => {
      // From the first moment on, also of what it waits for.
      const onError = (err: unknown): void => log.warn({ err }, 'could not read a metric');
      const metrics = new Metrics({ program: 'auditor', version: SOFTWARE_VERSION, profile: '', onError });
      running.metrics = metrics;
      serveMetrics(metrics, healthPort, health);
      const { logPort, databaseUrl, eventStoreUrl } = config;
      return logPort === undefined ? undefined : openLogPort({ ...logPort, databaseUrl, eventStoreUrl, health, log });
    },
    start: async ({ log, health }) => {
      const auditor = await startAuditor(config, log, alarm);
      running.auditor = auditor;
      health.degradedBy(() => auditor.troubles());
      if (running.metrics !== undefined) show(running.metrics, alarm, auditor);
      return auditor;
    },
  };
}

/** Readiness is red while the log contradicts what was signed: nothing of it is sealed then. */
const signedHistory = (alarm: HistoryAlarm, folder: string): Dependency => ({
  name: 'signed history',
  where: folder,
  isRequired: false,
  check: async () => {
    const raised = alarm.current();
    if (raised !== undefined) throw new Error(raised.reason);
  },
});

/** Readiness is red while a witness has cosigned another log than this one: somebody rewrote it. */
function witnessedHistory(
  { witnessPolicy }: AuditorConfig,
  witnesses: () => RunningAuditor['witnesses'] | undefined,
): Dependency[] {
  if (witnessPolicy.witnesses.length === 0) return [];
  const check = async (): Promise<void> => {
    const refusing = (witnesses()?.standings() ?? []).find(({ refused }) => refused !== undefined);
    if (refusing?.refused !== undefined) throw new Error(`witness ${refusing.name}: ${refusing.refused.reason}`);
  };
  const where = witnessPolicy.witnesses.map(({ name }) => name).join(',');
  return [{ name: 'witnessed history', where, isRequired: false, check }];
}

function show(metrics: Metrics, alarm: HistoryAlarm, auditor: RunningAuditor): void {
  metrics.collect(() => showAlarm(metrics, alarm));
  metrics.collect(() => showWitnesses(metrics, auditor.witnesses));
  metrics.collect(() => showSweep(metrics, auditor.sweep()));
}

function showWitnesses(metrics: Metrics, witnesses: RunningAuditor['witnesses']): void {
  const standings = witnesses.standings();
  metrics.replace(
    'pedigree_audit_witness_size',
    standings.map(({ name: witness, size }) => ({ labels: { witness }, value: size })),
  );
  metrics.replace(
    'pedigree_audit_witness_refused',
    standings.map(({ name: witness, refused }) => ({ labels: { witness }, value: refused === undefined ? 0 : 1 })),
  );
  const since = witnesses.unwitnessedSince();
  const seconds = since === undefined ? 0 : Math.max(0, (Date.now() - since.getTime()) / 1_000);
  metrics.set('pedigree_audit_unwitnessed_seconds', {}, seconds);
}

function showAlarm(metrics: Metrics, alarm: HistoryAlarm): void {
  const raised = alarm.current();
  metrics.set('pedigree_audit_contradicted', {}, raised === undefined ? 0 : 1);
  metrics.setOrClear('pedigree_audit_first_differing_leaf', raised?.leaf);
}

function showSweep(metrics: Metrics, figures: SweepFigures): void {
  const { findings, notCompared, share, passes, ageSeconds, lateSeconds } = figures;
  for (const [what, count] of Object.entries(findings)) metrics.set('pedigree_audit_findings', { what }, count);
  metrics.set('pedigree_audit_not_compared', {}, notCompared);
  metrics.set('pedigree_audit_sweep_passes', {}, passes);
  metrics.set('pedigree_audit_sweep_age_seconds', {}, ageSeconds);
  metrics.setOrClear('pedigree_audit_sweep_late_seconds', lateSeconds);
  metrics.setOrClear('pedigree_audit_sweep_done_ratio', share);
}

export const auditorLine: ProgramLine = {
  name: 'auditor',
  version: SOFTWARE_VERSION,
  variables: auditorVariables,
  make: (env) => auditorProgram(auditorConfig(env)),
};
