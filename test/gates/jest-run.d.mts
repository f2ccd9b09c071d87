export interface JestTotals {
  passed: number;
  failed: number;
  /** Each test that failed, and each file that could not be run, with the first lines of the reason. */
  failures: string[];
  /** Full names of the tests that did not run. */
  skipped: string[];
  remarks: string[];
}

export interface JestEnding {
  status: number | null;
  signal: string | null;
  stuck?: string;
}

export function countJest(results: object | undefined, ending: JestEnding): JestTotals;
export function runJest(
  extraArgs: string[],
  options?: { env?: Record<string, string> },
): Promise<JestTotals & { seconds: number }>;
