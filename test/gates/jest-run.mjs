import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const JEST = join(ROOT, 'node_modules/jest/bin/jest.js');
/** Jest has written its results and still lives: something that a test started was not stopped. */
const MOST_SECONDS_TO_END = 30;
/** Far more than a machine of two cores takes that has other things to do. */
const MOST_MINUTES = { test: 60, soak: 180 };
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** Jest leads a process group of its own: a worker in an endless loop outlives it otherwise. */
const LEADS_A_GROUP = process.platform !== 'win32';

/**
 * Runs Jest and counts. A suite that could not be loaded, a run without a result and a process that does not end count
 * as failures, for Jest's own totals know only tests.
 * @param {string[]} extraArgs passed through
 * @param {{ env?: Record<string, string> }} options further variables
 * @returns {Promise<{ passed: number, failed: number, failures: string[], skipped: string[], remarks: string[],
 *   seconds: number, results?: object } >} `results` is Jest's JSON
 */
export async function runJest(extraArgs, { env = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-jest-'));
  const output = join(folder, 'results.json');
  const startedMs = performance.now();
  try {
    const ending = await waitForJest(
      ['--experimental-vm-modules', '--no-warnings', JEST, '--ci', '--json', `--outputFile=${output}`, ...extraArgs],
      { output, env },
    );
    const results = existsSync(output) ? JSON.parse(readFileSync(output, 'utf8')) : undefined;
    return { ...countJest(results, ending), results, seconds: (performance.now() - startedMs) / 1000 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function waitForJest(args, { output, env }) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      detached: LEADS_A_GROUP,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    let stuck;
    let ticksSinceResults = 0;
    const stop = (why, signal = 'SIGKILL') => {
      stuck = why;
      signalGroup(child, signal);
    };
    const stopAtSignal = (signal) => stop(`Jest was stopped by ${signal}`, signal);
    for (const signal of SIGNALS) process.on(signal, stopAtSignal);
    const mostMinutes = MOST_MINUTES[env.PEDIGREE_TEST_SIZE ?? 'test'];
    const deadline = setTimeout(() => stop(`Jest lasted longer than ${mostMinutes} minutes`), mostMinutes * 60_000);
    const watch = setInterval(() => {
      if (existsSync(output) && ++ticksSinceResults > MOST_SECONDS_TO_END)
        stop('Jest did not end: something that a test started was not stopped');
    }, 1000);
    child.on('close', (status, signal) => {
      clearTimeout(deadline);
      clearInterval(watch);
      for (const name of SIGNALS) process.off(name, stopAtSignal);
      signalGroup(child, 'SIGKILL');
      resolve({ status, signal, stuck });
    });
  });
}

function signalGroup(child, signal) {
  try {
    process.kill(LEADS_A_GROUP ? -child.pid : child.pid, signal);
  } catch {
    // Nobody is left of it.
  }
}

/**
 * What a run of Jest amounts to.
 * @param {object | undefined} results Jest's `--json`; undefined when it wrote none
 * @param {{ status: number | null, signal: string | null, stuck?: string }} ending how its process ended
 */
export function countJest(results, ending) {
  const remarks = ending.stuck === undefined ? [] : [ending.stuck];
  if (results === undefined)
    return {
      passed: 0,
      failed: 1,
      failures: [],
      skipped: [],
      remarks: [...remarks, `Jest ended with ${ending.signal ?? ending.status} and no results`],
    };
  const skipped = results.testResults.flatMap((suite) =>
    suite.assertionResults
      .filter((test) => ['pending', 'todo', 'skipped', 'disabled'].includes(test.status))
      .map((test) => test.fullName),
  );
  let failed = results.numFailedTests + results.numRuntimeErrorTestSuites + remarks.length;
  if (results.numTotalTests === 0) remarks.push('Jest found no test');
  // Jest is unhappy for a reason that its totals do not show: a teardown that threw, or no test at all.
  if (failed === 0 && (ending.status !== 0 || results.numTotalTests === 0)) {
    failed = 1;
    remarks.push(`Jest ended with ${ending.signal ?? `status ${ending.status}`}`);
  }
  return { passed: results.numPassedTests, failed, failures: failuresIn(results), skipped, remarks };
}

const MOST_LINES_OF_A_FAILURE = 4;

/** Each test that failed, and each file that could not be run, with the first lines of the reason. */
function failuresIn({ testResults }) {
  return testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, message, assertionResults }) => {
      const path = relative(ROOT, name);
      const tests = assertionResults.filter(({ status }) => status === 'failed');
      if (tests.length === 0) return [`${path}: ${firstLines(message)}`];
      return tests.map(({ fullName, failureMessages: [why = ''] }) => `${path}: ${fullName}: ${firstLines(why)}`);
    });
}

const firstLines = (text) =>
  stripVTControlCharacters(text)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, MOST_LINES_OF_A_FAILURE)
    .join('\n    ');
