import { fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

const GATE = fileURLToPath(new URL('./gate.mjs', import.meta.url));
/** Beside the tests a gate has what they leave over. */
const MOST_SECONDS = 1_800;
/** A third of the weight of a test. At 10 four busy loops left the gates so little that they took 17 minutes. */
const NICE = 5;

/**
 * Runs these gates over `root`, one after the other, in a process of their own, so that gates share two cores and none
 * can take the others down; below the tests in priority, for some of those look at the time. A gate that dies without a
 * word, or lasts too long, is itself a finding.
 */
export function gatesInProcess(names, root) {
  return new Promise((resolve) => {
    const child = fork(GATE, names, {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: ['--no-warnings'],
    });
    yieldToTests(child.pid);
    const startedMs = performance.now();
    const reports = [];
    let complaint = '';
    child.stderr.on('data', (text) => (complaint = (complaint + text).slice(-2000)));
    child.on('message', (report) => reports.push(report));
    const deadline = setTimeout(() => child.kill('SIGKILL'), MOST_SECONDS * 1000);
    child.on('close', (status, signal) => {
      clearTimeout(deadline);
      const message = `${signal ?? `status ${status}`} ${complaint.trim()}`;
      const seconds = (performance.now() - startedMs) / 1000;
      resolve(names.map((name) => reports.find((report) => report.name === name) ?? broken(name, message, seconds)));
    });
  });
}

const broken = (name, message, seconds) => ({
  name,
  files: 0,
  notes: [],
  findings: [{ rule: 'gate-broke', file: name, message }],
  seconds,
});

function yieldToTests(pid) {
  try {
    if (pid !== undefined) setPriority(pid, NICE);
  } catch {
    // It has ended already, or the system allows nothing of the kind: then they share as equals.
  }
}

/** Runs the jobs, `most` at a time; results in the order of the jobs. */
export async function runTogether(jobs, most) {
  const results = new Array(jobs.length);
  let next = 0;
  const runner = async () => {
    while (next < jobs.length) {
      const mine = next++;
      results[mine] = await jobs[mine]();
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, jobs.length) }, runner));
  return results;
}
