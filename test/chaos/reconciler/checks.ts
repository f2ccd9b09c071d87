import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOfLines, Duck, parquet } from '#duckdb';
import {
  ANSWERS_INDEX,
  FINDING_COLUMNS,
  readSnapshot,
  snapshotsFolder,
  type ComparisonResult,
  type PackRunCompleted,
  type PackRunStarted,
} from '#reconciliation';
import type { LoggedEvent } from '../campaign-log.js';
import { caseComplaints } from './case-checks.js';
import { readRunFiles, type RunFiles } from './case-files.js';
import type { LoggedRun, MadeRun } from './runs.js';
import type { Stage } from './stage.js';
import { GTIN } from './stock-files.js';

/** All that is wrong, each as a sentence. `callsInHand`: those that a killed worker may have made in vain. */
export async function complaintsOf(stage: Stage, runs: MadeRun[], callsInHand: number): Promise<string[]> {
  const streams = await stage.log.streams('run-');
  const logged = runs.flatMap((run) => loggedRun(run, streams.get(`run-${run.runId}`)) ?? []);
  const complaints = [
    ...(await registered(stage, runs, [...streams.keys()])),
    ...runs.flatMap((run) => eventComplaints(run, streams.get(`run-${run.runId}`))),
    ...stage.deaths.map(({ program, how, lastWords }) => `${program} died of itself: ${how}: ${lastWords}`),
    ...(await callComplaints(stage, logged, callsInHand)),
    ...leftOver(stage),
  ];
  const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: join(stage.files, 'checks') });
  try {
    const files: RunFiles[] = [];
    for (const run of logged) {
      complaints.push(...(await fileComplaints(stage, duck, run)));
      files.push(await readRunFiles(duck, run, comparisonOf(stage, run)));
    }
    complaints.push(...caseComplaints(await stage.log.streams('case-'), files));
  } finally {
    await duck.close();
  }
  for (const run of logged) {
    const said = await stage.replay(run.runId);
    if (said !== `the same digest: ${run.completed.digest}`) complaints.push(`replay of ${run.reason}: ${said}`);
  }
  return complaints;
}

function loggedRun(run: MadeRun, events: LoggedEvent[] = []): LoggedRun | undefined {
  const data = <T>(type: string): T | undefined => events.find((one) => one.type === type)?.data as T | undefined;
  const [started, completed] = [data<PackRunStarted>('PackRunStarted'), data<PackRunCompleted>('PackRunCompleted')];
  return started === undefined || completed === undefined ? undefined : { ...run, started, completed };
}

/** No run is lost, and none is made under another id. */
async function registered(stage: Stage, runs: MadeRun[], streams: string[]): Promise<string[]> {
  const { rows } = await stage.db.pool.query<{ runId: string }>('SELECT run_id AS "runId" FROM reconciliation_request');
  const given = runs.map(({ runId }) => runId).sort();
  const known = {
    requests: rows.map(({ runId }) => runId),
    folders: stage.names('runs'),
    streams: streams.map((stream) => stream.slice('run-'.length)),
  };
  return Object.entries(known).flatMap(([where, ids]) =>
    JSON.stringify(ids.sort()) === JSON.stringify(given)
      ? []
      : [`${given.length} runs were given (${given.join(', ')}), and the ${where} are ${ids.join(', ')}`],
  );
}

function eventComplaints({ reason }: MadeRun, events: LoggedEvent[] = []): string[] {
  const types = events.map(({ type }) => type).join(', ');
  return types === 'PackRunStarted, PackRunCompleted' ? [] : [`the events of ${reason} are: ${types}`];
}

/** The registry is asked for a page twice only where somebody was killed over it. */
async function callComplaints(stage: Stage, runs: LoggedRun[], callsInHand: number): Promise<string[]> {
  const { calls } = await stage.control<{ calls: { method: string; calls: number }[] }>('/truth/calls');
  const made = calls
    .filter(({ method }) => ['sgtins', 'sgtins_by_list', 'archived_sgtins_by_list'].includes(method))
    .reduce((sum, one) => sum + one.calls, 0);
  const kept = runs.reduce((sum, { completed }) => sum + completed.calls, 0);
  return made >= kept && made <= kept + callsInHand
    ? []
    : [`the registry was asked ${made} times for ${kept} pages, and ${callsInHand} calls were in hand at a kill`];
}

/** Half snapshots are taken away by the next attempt. */
const leftOver = (stage: Stage): string[] =>
  stage
    .names('snapshots')
    .filter((name) => !/^(stock|registry)-[A-Za-z0-9_+-]+$/.test(name))
    .map((name) => `${name} is left in the folder of snapshots`);

const comparisonOf = (stage: Stage, { runId }: MadeRun): string => join(stage.folderOf(runId), 'comparison');

async function fileComplaints(stage: Stage, duck: Duck, run: LoggedRun): Promise<string[]> {
  const { runId, reason, completed } = run;
  const folder = comparisonOf(stage, run);
  const { digest, buckets } = JSON.parse(await readFile(join(folder, 'result.json'), 'utf8')) as ComparisonResult;
  const complaints = digest === completed.digest ? [] : [`${reason}: the files have digest ${digest}`];
  for (const { file, sha256 } of buckets) {
    const is = await digestOfLines(duck, {
      file: join(folder, file),
      line: `json_array(${FINDING_COLUMNS.join(', ')})`,
    });
    if (is !== sha256) complaints.push(`${reason}: ${file} has digest ${is}, and ${sha256} was written`);
  }
  const files = buckets.map(({ file }) => join(folder, file));
  return [
    ...complaints,
    ...(await findingComplaints(duck, files, run)),
    ...(await snapshotComplaints(join(snapshotsFolder(stage.files), `registry-${runId}`), run)),
  ];
}

/** What is found of the packs of the file is what was planted, of each once. */
async function findingComplaints(duck: Duck, files: string[], { expected, reason }: LoggedRun): Promise<string[]> {
  if (expected === undefined) return [];
  const rows = await duck.rows<{ item: string; code: string }>(
    `SELECT item, code FROM ${parquet(files)} WHERE substr(item, 1, 14) = '${GTIN}'`,
  );
  const found = rows.filter(({ item }) => expected.items.has(item)).map(({ item, code }) => `${item} ${code}`);
  const wanted = [...expected.findings].map(([item, code]) => `${item} ${code}`);
  const wrong = [
    ...wanted.filter((one) => !found.includes(one)).map((one) => `${one} is not found`),
    ...found
      .filter((one, n) => !wanted.includes(one) || found.indexOf(one) !== n)
      .map((one) => `${one} is one too many`),
  ];
  return wrong.map((one) => `${reason}: ${one}`);
}

/** Every page once, and every pack once. */
async function snapshotComplaints(folder: string, { reason, started, completed }: LoggedRun): Promise<string[]> {
  const { duplicates, digest } = await readSnapshot(folder, 'registry');
  const index = (await readFile(join(folder, ANSWERS_INDEX), 'utf8')).trimEnd().split('\n');
  const pages = index.map((line) => {
    const { fetchId, phase, page } = JSON.parse(line) as { fetchId: string; phase: string; page: number };
    return `${fetchId} ${phase} ${page}`;
  });
  return [
    ...(duplicates === 0 ? [] : [`${reason}: ${duplicates} packs stand in the answers twice`]),
    ...(new Set(pages).size === pages.length ? [] : [`${reason}: a page was kept twice`]),
    ...(pages.length === completed.calls ? [] : [`${reason}: ${completed.calls} calls for ${pages.length} pages`]),
    ...(digest === started.sides.registry?.digest ? [] : [`${reason}: the answers have another digest than the run`]),
  ];
}
