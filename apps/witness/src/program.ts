import { pino, type Logger } from 'pino';
import { SOFTWARE_VERSION } from '#event-store';
import { noteSigner, parseVerifierKey, witnessKeyOf, type NoteSigner } from '#merkle';
import { readSecretFile } from '#secret-files';
import { HttpPort, readVariable, type Frame, type Program, type ProgramLine, type Trouble } from '#service';
import { Metrics, serveMetrics } from '#telemetry';
import { witnessConfig, witnessVariables, type WitnessConfig } from './config.js';
import { answerRequests } from './requests.js';
import { StateFolder } from './state-folder.js';
import { Witness, type Answer } from './witness.js';

const CUT_AFTER_MS = 1_000;

/** A witness as a program of its own: `pedigree witness`. It needs no database and calls nobody. */
export function witnessProgram(config: WitnessConfig): Program {
  let port: HttpPort | undefined;
  return {
    name: 'witness',
    log: witnessLog(config),
    health: { port: config.healthPort, host: config.healthHost },
    dependencies: [],
    open: async ({ health }) => {
      const opened = await HttpPort.open({ port: config.port, host: config.host, health });
      port = opened;
      return { url: opened.url, stop: () => opened.drain(CUT_AFTER_MS) };
    },
    start: async (frame) => startWitness(config, { ...frame, port: port as HttpPort }),
  };
}

const witnessLog = ({ logLevel }: WitnessConfig): Logger =>
  pino({ name: 'witness', level: logLevel }, pino.destination(2));

async function startWitness(
  config: WitnessConfig,
  { log, health, healthPort, port }: Frame & { port: HttpPort },
): Promise<{ stop(): Promise<void> }> {
  const signer = signerOf(config);
  const state = readVariable('WITNESS_FOLDER', () => openState(config));
  const origins = [...new Set(config.logs.map((key) => parseVerifierKey(key).name))];
  const witness = new Witness({ signer, logs: config.logs.map(parseVerifierKey), state });
  health.degradedBy(() => origins.flatMap((origin) => refusedTrouble(state, origin)));
  const onError = (err: unknown): void => log.warn({ err }, 'could not read a metric');
  const metrics = new Metrics({ program: 'witness', version: SOFTWARE_VERSION, profile: '', onError });
  metrics.collect(() => showState(metrics, state, origins));
  serveMetrics(metrics, healthPort, health);
  port.serve(
    answerRequests(witness, (answer) => {
      metrics.count('pedigree_witness_answers_total', { status: String(answer.status) });
      tell(log, answer);
    }),
  );
  log.info({ witnessKey: witnessKeyOf(signer), logs: origins }, 'cosigns as this witness');
  return { stop: async () => port.serve(undefined) };
}

/** What it remembers is read at the start, so that a damaged file is told then. */
function openState({ folder, logs }: WitnessConfig): StateFolder {
  const state = new StateFolder(folder);
  for (const key of logs) state.newest(parseVerifierKey(key).name);
  return state;
}

function tell(log: Frame['log'], { verdict, status, origin, body }: Answer): void {
  if (verdict === 'contradicts')
    log.error(
      { origin, words: body.trim() },
      'a checkpoint that the log signed is not shown to extend the last one; the request is kept',
    );
  else if (status === 200) log.info({ origin }, 'cosigned a checkpoint');
  else log.warn({ status, words: body.trim().slice(0, 300) }, 'a request was refused');
}

/** Stays until a person takes the file away. */
function refusedTrouble(state: StateFolder, origin: string): Trouble[] {
  const refused = state.refused(origin);
  if (refused === undefined) return [];
  const { file, isSure } = refused;
  const reason = isSure
    ? `it signed two histories; ${file} has the other one`
    : `a checkpoint that it signed is not shown to follow from what was cosigned; ${file} has it`;
  return [{ name: `log ${origin}`, since: refused.since.toISOString(), reason }];
}

function showState(metrics: Metrics, state: StateFolder, origins: string[]): void {
  metrics.replace(
    'pedigree_witness_size',
    origins.flatMap((log) => {
      const newest = state.newest(log);
      return newest === undefined ? [] : [{ labels: { log }, value: newest.checkpoint.size }];
    }),
  );
  metrics.replace(
    'pedigree_witness_contradicted',
    origins.map((log) => ({ labels: { log }, value: state.refused(log) === undefined ? 0 : 1 })),
  );
}

const signerOf = ({ name, keyFile }: WitnessConfig): NoteSigner =>
  readVariable('WITNESS_KEY_FILE', () => noteSigner(name, readSecretFile(keyFile).toString('utf8')));

export const witnessLine: ProgramLine = {
  name: 'witness',
  version: SOFTWARE_VERSION,
  variables: witnessVariables,
  make: (env) => witnessProgram(witnessConfig(env)),
};
