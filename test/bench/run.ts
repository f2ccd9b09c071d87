import { PedigreeError } from '#kernel';
import { growth } from './growth.js';
import { intake } from './intake.js';
import { lists } from './lists.js';
import { log } from './log.js';
import { pipeline } from './pipeline.js';
import { rebuild } from './rebuild.js';
import type { BenchReport } from './report.js';
import { sandbox } from './sandbox.js';
import { workers } from './workers.js';

export interface BenchOptions {
  json?: boolean;
  quick?: boolean;
}

const BENCHES: Record<string, (options: { quick: boolean }) => Promise<BenchReport>> = {
  growth,
  intake,
  lists,
  log,
  pipeline,
  rebuild,
  sandbox,
  workers,
};

/** Runs one bench by name, prints its table, and with `json` one JSON object as the last line. */
export async function runBench(name: string, options: BenchOptions): Promise<number> {
  const bench = BENCHES[name];
  if (bench === undefined)
    throw new PedigreeError(
      'invalid_parameter',
      `no bench is called ${name}; there are: ${Object.keys(BENCHES).join(', ')}`,
      { field: 'name' },
    );
  const report = await bench({ quick: options.quick === true });
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
