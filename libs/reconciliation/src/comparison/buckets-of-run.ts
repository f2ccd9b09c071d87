import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Duck, type DuckOptions } from '#duckdb';
import { BUCKETS } from '../snapshots/manifest.js';
import { compareBucket } from './compare-bucket.js';
import { openRun } from './joined.js';
import type { Rule } from './rules.js';
import { readBucketResult, readRun } from './run-record.js';

export interface BucketsOptions extends Omit<DuckOptions, 'temporary'> {
  folder: string;
  rules?: readonly Rule[];
  /** In which order they are looked at; default: from the first. Nothing hangs on it. */
  order?: readonly number[];
  onBucket?: (bucket: number) => void;
}

/**
 * Does the buckets of a run that nobody has done. First those that no process has claimed; then, for a process that
 * claimed one may have died, all that still have no result. A bucket that is done twice gives the same files.
 */
export async function doBuckets({ folder, rules, order, onBucket, ...limits }: BucketsOptions): Promise<number> {
  const run = await readRun(folder);
  const duck = await Duck.open({ ...limits, temporary: join(folder, 'work') });
  let done = 0;
  try {
    await openRun(duck, run);
    for (const mayTake of [claim, always]) {
      for (const bucket of order ?? [...Array(BUCKETS).keys()]) {
        if ((await readBucketResult(folder, bucket)) !== undefined || !(await mayTake(folder, bucket))) continue;
        onBucket?.(bucket);
        await compareBucket(duck, { run, folder, bucket, ...(rules === undefined ? {} : { rules }) });
        done += 1;
      }
    }
  } finally {
    await duck.close();
  }
  return done;
}

const always = (): Promise<boolean> => Promise.resolve(true);

/** True for the first process that comes. */
async function claim(folder: string, bucket: number): Promise<boolean> {
  const claims = join(folder, 'claims');
  await mkdir(claims, { recursive: true });
  try {
    await (await open(join(claims, bucket.toString(16)), 'wx')).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
