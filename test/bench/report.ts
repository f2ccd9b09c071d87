import { cpus, totalmem } from 'node:os';

/**
 * What a bench found. Ratios compare figures with ceilings measured in the same run, since machines differ and are
 * noisy.
 */
export interface BenchReport {
  bench: string;
  figures: Record<string, number>;
  ceilings: Record<string, number>;
  ratios: Record<string, number>;
  machine: { cpus: number; model: string; memoryGiB: number; node: string };
}

/** The machine that the figures were measured on. */
export const thisMachine = (): BenchReport['machine'] => ({
  cpus: cpus().length,
  model: cpus()[0]?.model.trim() ?? 'unknown',
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.versions.node,
});
