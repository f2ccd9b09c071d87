/**
 * `npm test`: installs and builds what is missing, runs the gates over the source and Jest beside them, and ends with
 * the totals. Each gate counts as one test. Arguments go to Jest (`npm test -- libs/kernel`), which then runs what a
 * whole run leaves to the soak, too; `--gates-only` leaves Jest out. Nothing outside Node is imported before the
 * installation has been seen to.
 */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/[\\/]$/, '');
const MOST_FINDINGS_SHOWN = 100;

const args = process.argv.slice(2);
const jestArgs = args.filter((arg) => arg !== '--gates-only');

await prepare();
// Many tests wait for a registry that takes its time; the gates compute meanwhile, below the tests in priority.
const [gates, jest] = await Promise.all([runGates(), runTests()]);
if (jestArgs.length === 0 && jest.results !== undefined) gates.push(await conformance(jest.results));
process.exitCode = summarise(gates, jest);

async function runTests() {
  if (args.includes('--gates-only'))
    return { passed: 0, failed: 0, failures: [], skipped: [], remarks: [], seconds: 0 };
  const { runJest } = await import('./jest-run.mjs');
  if (jestArgs.length > 0) return runJest(jestArgs);
  const { leftToTheSoak } = await import('../../dist/test/soak/full-specs.js');
  const left = leftToTheSoak(ROOT);
  console.log(`${left.length} specs are left to npm run soak, by a line of their own`);
  return runJest(left.map((path) => `--testPathIgnorePatterns=${path.replaceAll('.', '\\.')}$`));
}

/** Only a whole run can tell whether the tests that the table names passed. */
async function conformance(results) {
  const { readFileSync } = await import('node:fs');
  const { checkConformance } = await import('./conformance.mjs');
  const { rows, proven, open, findings } = checkConformance(
    readFileSync(`${ROOT}/docs/conformance.md`, 'utf8'),
    results,
  );
  const notes = [`${proven} of ${rows} statements proven; not built yet: ${open.join(', ') || 'none'}`];
  const report = { name: 'conformance', files: 1, findings, notes, seconds: 0 };
  showGate(report);
  return report;
}

/** Type errors do not stop the build here: the gate names them, and the tests that can run still do. */
async function prepare() {
  try {
    const { setUp } = await import('../../apps/cli/bin/setup.mjs');
    await setUp({ despiteTypeErrors: true });
  } catch (error) {
    console.log(`!! ${error.message}\n\n0 passed, 1 failed, 0 skipped`);
    process.exit(1);
  }
}

async function runGates() {
  const { PROCESSES } = await import('./gate.mjs');
  const { gatesInProcess, runTogether } = await import('./in-process.mjs');
  const { runCanary } = await import('./canary.mjs');
  const ofTheSource = PROCESSES.map((names) => () => gatesInProcess(names, ROOT));
  const jobs = [...ofTheSource, async () => [await runCanary(ROOT)]].map((job) => async () => {
    const reports = await job();
    reports.forEach(showGate);
    return reports;
  });
  return (await runTogether(jobs, Math.max(2, Math.min(4, availableParallelism())))).flat();
}

function showGate({ name, files, findings, notes, seconds }) {
  const verdict = findings.length === 0 ? 'passed' : `FAILED (${findings.length})`;
  console.log(
    `gate ${name.padEnd(13)} ${verdict.padEnd(12)} ${String(files).padStart(5)} files ` +
      `${seconds.toFixed(1).padStart(6)} s`,
  );
  for (const { rule, file, message } of findings.slice(0, MOST_FINDINGS_SHOWN))
    console.log(`  ${file}: ${rule}: ${message}`);
  if (findings.length > MOST_FINDINGS_SHOWN) console.log(`  and ${findings.length - MOST_FINDINGS_SHOWN} more`);
  for (const note of notes) console.log(`  note: ${note}`);
}

function showRow({ name, findings, files, seconds }) {
  const cells = [
    name.padEnd(14),
    (findings === 0 ? 'passed' : 'FAILED').padEnd(9),
    String(findings).padStart(8),
    String(files).padStart(6),
    seconds.toFixed(1).padStart(8),
  ];
  console.log(cells.join(' '));
}

/** Prints the table and, last, the totals. Returns the exit status. */
function summarise(gateReports, jestTotals) {
  const broken = gateReports.filter((report) => report.findings.length > 0);
  const { failures, skipped, remarks } = jestTotals;
  if (skipped.length > 0) {
    console.log(`\n!! ${skipped.length} TESTS WERE SKIPPED:`);
    for (const name of skipped) console.log(`!!   ${name}`);
  }
  for (const failure of failures) console.log(`\n!! FAILED  ${failure}`);
  for (const remark of remarks) console.log(`\n!! ${remark}`);
  console.log('\nGate           Verdict   Findings  Files  Seconds');
  for (const { name, findings, files, seconds } of gateReports)
    showRow({ name, findings: findings.length, files, seconds });
  showRow({ name: 'Jest', findings: jestTotals.failed, files: '', seconds: jestTotals.seconds });
  const passed = jestTotals.passed + gateReports.length - broken.length;
  const failed = jestTotals.failed + broken.length;
  console.log(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  return failed === 0 ? 0 : 1;
}
