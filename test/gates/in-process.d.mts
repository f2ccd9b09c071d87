import type { Finding } from './tidy-rules.mjs';

export interface GateReport {
  name: string;
  files: number;
  findings: Finding[];
  notes: string[];
  seconds: number;
}

export function gatesInProcess(names: string[], root: string): Promise<GateReport[]>;
export function runTogether<T>(jobs: (() => Promise<T>)[], most: number): Promise<T[]>;
