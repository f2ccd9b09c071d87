import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duck } from '#duckdb';
import { PedigreeError, Semaphore } from '#kernel';
import {
  findingsCursor,
  findingsPage,
  findingsPlaceOf,
  runsFolder,
  type FindingFilter,
  type FindingRow,
} from '#reconciliation';

const MEMORY_MB = 200;
/** Pages that are read at once; as many more wait. */
const turns = new Semaphore(2, 'pages of findings about packs', 16);

/**
 * Findings of runs about packs, from the files of the reconciler. Each page opens DuckDB for itself, so that a caller
 * who goes away leaves nothing open.
 */
export class PackFindings {
  constructor(private readonly segmentsFolder: string | undefined) {}

  /** @throws PedigreeError `not_found` where the files are not on this machine, or not any more. */
  async page(
    runId: string,
    { cursor, limit, ...filter }: FindingFilter & { cursor?: string | undefined; limit: number },
  ): Promise<{ items: FindingRow[]; next_cursor?: string }> {
    const folder = this.segmentsFolder;
    if (folder === undefined || !/^[0-9a-f-]{36}$/.test(runId)) throw elsewhere(runId);
    const from = findingsPlaceOf(cursor);
    return turns.take(async () => {
      // The folder of the reconciler is only read here.
      const duck = await Duck.open({ memoryMb: MEMORY_MB, threads: 1, temporary: tmpdir() });
      try {
        const at = join(runsFolder(folder), runId, 'comparison');
        const { rows, next } = await findingsPage(duck, at, { ...filter, from, limit });
        return { items: rows, ...(next === undefined ? {} : { next_cursor: findingsCursor(next) }) };
      } finally {
        await duck.close();
      }
    });
  }
}

const elsewhere = (runId: string): PedigreeError =>
  new PedigreeError(
    'not_found',
    `the findings of ${runId} lie in files of the reconciler, which this gateway does not have (SEGMENTS_DIR): ` +
      'pedigree reconcile findings reads them there',
    { field: 'runId', item: runId },
  );
