import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Duck, type DuckOptions } from '#duckdb';
import { defined } from '#kernel';
import { compareBuckets, groupsOf } from './compare-buckets.js';
import { openRun } from './joined.js';
import type { Rule } from './rules.js';
import { readBucketResult, readRunToDo } from './run-record.js';

export interface BucketsOptions extends Omit<DuckOptions, 'temporary'> {
  folder: string;
  rules?: readonly Rule[];
  /** In which order they are looked at; default: from the first. Nothing hangs on it. */
  order?: number[];
  /** Told before a bucket is written. */
  onBucket?: (bucket: number) => void;
  /** Asked after each bucket; default: always. Whoever comes next does what is left. */
  goesOn?: () => boolean;
}

/**
 * Does the buckets of a run that nobody has done. First those that no process has claimed; then, for a process that
 * claimed one may have died, all that still have no result. A bucket that is done twice gives the same files.
 */
export async function doBuckets({
  folder,
  rules,
  order,
  onBucket,
  goesOn = () => true,
  ...limits
}: BucketsOptions): Promise<number> {
  const run = await readRunToDo(folder);
  const duck = await Duck.open({ ...limits, temporary: join(folder, 'work') });
  let done = 0;
  try {
    await openRun(duck, run);
    for (const mayTake of [claim, always]) {
      for (const group of groupsOf(run, order)) {
        const buckets: number[] = [];
        for (const bucket of group)
          if ((await readBucketResult(folder, bucket)) === undefined && (await mayTake(folder, bucket)))
            buckets.push(bucket);
        if (buckets.length === 0) continue;
        await compareBuckets(duck, { run, folder, buckets, onBucket, ...defined({ rules }) });
        done += buckets.length;
        if (!goesOn()) return done;
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
