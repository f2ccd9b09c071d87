import { join } from 'node:path';
import { FolderStore } from '#duckdb';
import type { Pool } from '#postgres';
import type { SegmentParts } from './segments.js';

/** Where derived files lie, and what making them may take of the machine. */
export interface SegmentSettings {
  folder: string;
  memoryMb: number;
  threads: number;
}

export const segmentParts = (pool: Pool, { folder, memoryMb, threads }: SegmentSettings): SegmentParts => ({
  pool,
  files: new FolderStore(join(folder, 'files')),
  duck: { memoryMb, threads, temporary: join(folder, 'temporary') },
});
