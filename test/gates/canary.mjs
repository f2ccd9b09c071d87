import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gatesInProcess, runTogether } from './in-process.mjs';
import { PROCESSES } from './gate.mjs';
import { ORDERLY, SEEDS } from './canary-seeds.mjs';

const SCRATCH = '.pedigree';

/**
 * The canary: seeds one violation per file into a scratch tree and demands that each gate names it by its rule; that no
 * gate finds fault with orderly files; and that a gate with nothing to read fails. A gate that cannot fail is worse
 * than none.
 */
export async function runCanary(root) {
  const startedMs = performance.now();
  removeAbandoned(root);
  const scratch = join(root, SCRATCH, `canary-${process.pid}`);
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const findings = [
      ...(await judgeSeeded(root, join(scratch, 'seeded'))),
      ...(await judgeEmpty(root, join(scratch, 'empty'))),
    ];
    return {
      name: 'canary',
      files: SEEDS.length,
      findings,
      notes: [],
      seconds: (performance.now() - startedMs) / 1000,
    };
  } finally {
    remove();
    process.off('exit', remove);
  }
}

const canaryFinding = (gate, file, message) => ({ rule: `canary-${gate}`, file, message });

async function judgeSeeded(root, tree) {
  plant(root, tree, {
    ...ORDERLY,
    ...Object.fromEntries(SEEDS.filter((seed) => seed.text !== undefined).map((seed) => [seed.file, seed.text])),
  });
  const reports = await runGates(tree);
  return reports.flatMap((report) => [...missedSeeds(report), ...faultsInOrder(report)]);
}

function missedSeeds({ name, findings }) {
  return SEEDS.filter((seed) => seed.gate === name)
    .filter((seed) => !findings.some((found) => found.rule === seed.rule && found.file === seed.file))
    .map((seed) =>
      canaryFinding(name, seed.file, `${seed.rule} was seeded and not found (there: ${rulesIn(findings, seed.file)})`),
    );
}

const rulesIn = (findings, file) =>
  findings
    .filter((found) => found.file === file)
    .map((found) => found.rule)
    .join(', ') || 'nothing';

function faultsInOrder({ name, findings }) {
  const wrong = findings.filter(
    (found) => found.file in ORDERLY || ['gate-broke', 'not-read', 'read-nothing'].includes(found.rule),
  );
  return wrong.map((found) => canaryFinding(name, found.file, `in order, yet found: ${found.rule} ${found.message}`));
}

async function judgeEmpty(root, tree) {
  plant(root, tree, {});
  for (const folder of ['apps', 'libs', 'test']) mkdirSync(join(tree, folder), { recursive: true });
  const reports = await runGates(tree);
  return reports
    .filter((report) => report.findings.length === 0)
    .map((report) => canaryFinding(report.name, '.', 'there was nothing to read, and it passed'));
}

async function runGates(tree) {
  const jobs = PROCESSES.map((names) => () => gatesInProcess(names, tree));
  return (await runTogether(jobs, 2)).flat();
}

/**
 * Writes a tree that the gates take for the real one: same manifest, same compiler options, packages found further up.
 */
function plant(root, tree, files) {
  const tsconfig = {
    extends: '../../../tsconfig.json',
    compilerOptions: { rootDir: '.' },
    include: ['apps/**/*.ts', 'libs/**/*.ts', 'test/**/*.ts'],
  };
  const all = {
    'package.json': readFileSync(join(root, 'package.json'), 'utf8'),
    'tsconfig.json': JSON.stringify(tsconfig),
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
}

/** A run that was killed leaves its tree behind; the next one clears it away. */
function removeAbandoned(root) {
  mkdirSync(join(root, SCRATCH), { recursive: true });
  for (const name of readdirSync(join(root, SCRATCH))) {
    const pid = /^canary-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(root, SCRATCH, name), { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
