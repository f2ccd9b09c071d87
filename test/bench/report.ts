/** What a bench found. Ratios compare figures with ceilings measured in the same run, since machines differ and are noisy. */
export interface BenchReport {
  bench: string;
  figures: Record<string, number>;
  ceilings: Record<string, number>;
  ratios: Record<string, number>;
  machine: { cpus: number; model: string; memoryGiB: number; node: string };
}
