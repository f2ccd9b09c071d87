import { defined, PedigreeError } from '#kernel';
import { audit } from './audit.js';
import { claims } from './claims.js';
import { growth } from './growth.js';
import { history } from './history.js';
import { intake } from './intake.js';
import { lists } from './lists.js';
import { log } from './log.js';
import { movements } from './movements.js';
import { pipeline } from './pipeline.js';
import { rebuild } from './rebuild.js';
import { reconcile } from './reconcile.js';
import type { BenchReport } from './report.js';
import { sandbox } from './sandbox.js';
import { state } from './state.js';
import { validate } from './validate.js';
import { workers } from './workers.js';

export interface BenchOptions {
  json?: boolean;
  quick?: boolean;
  /** For the benches of states and of the comparison, and for the part `series` of `history`. */
  packs?: string;
  /** Of the benches `history` and `movements`: movements. */
  rows?: string;
  /** Of the benches `audit`, `history` and `reconcile`: one of their parts. */
  part?: string;
}

interface Asked {
  quick: boolean;
  packs?: number;
  rows?: number;
  part?: string;
}

const BENCHES: Record<string, (options: Asked) => Promise<BenchReport>> = {
  audit,
  claims,
  growth,
  history,
  intake,
  lists,
  log,
  movements,
  pipeline,
  rebuild,
  reconcile,
  sandbox,
  state,
  validate,
  workers,
};

function packsOf({ packs }: BenchOptions): { packs?: number } {
  if (packs === undefined) return {};
  if (/^[1-9]\d{0,8}$/.test(packs)) return { packs: Number(packs) };
  throw new PedigreeError('invalid_parameter', `--packs: ${packs} is not a number of packs`, { field: '--packs' });
}

/** Runs one bench by name, prints its table, and with `json` one JSON object as the last line. */
export async function runBench(name: string, options: BenchOptions): Promise<number> {
  const bench = BENCHES[name];
  if (bench === undefined)
    throw new PedigreeError(
      'invalid_parameter',
      `no bench is called ${name}; there are: ${Object.keys(BENCHES).join(', ')}`,
      { field: 'name' },
    );
  const rows = options.rows === undefined ? {} : { rows: rowsGiven(options.rows) };
  const report = await bench({
    quick: options.quick === true,
    ...packsOf(options),
    ...rows,
    ...defined({ part: options.part }),
  });
  const { bench: _, machine, ...parts } = report;
  for (const [part, values] of Object.entries(parts)) {
    for (const [figure, value] of Object.entries(values))
      process.stdout.write(`${part.padEnd(10)} ${figure.padEnd(42)} ${value}\n`);
  }
  process.stdout.write(
    `machine    ${machine.cpus} x ${machine.model}, ${machine.memoryGiB} GiB, Node ${machine.node}\n`,
  );
  if (options.json === true) process.stdout.write(`${JSON.stringify(report)}\n`);
  return 0;
}

function rowsGiven(text: string): number {
  const rows = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (rows < 1_000)
    throw new PedigreeError('invalid_parameter', 'rows must be a whole number from 1000', { field: 'rows' });
  return rows;
}
