import { doBuckets } from './buckets-of-run.js';

/** The process of a comparison: child.js FOLDER MEMORY_MB THREADS. DuckDB's memory is its own, and ends with it. */
const [, , folder = '', memoryMb = '', threads = ''] = process.argv;
/**
 * What DuckDB has freed stays with the process, in pieces, and grows from bucket to bucket. So a process that has grown
 * to its limit ends, and another goes on.
 */
const goesOn = (): boolean => process.memoryUsage.rss() < Number(memoryMb) * 1_048_576;
const onBucket = (bucket: number): void => void process.stdout.write(`${JSON.stringify({ bucket })}\n`);
await doBuckets({ folder, memoryMb: Number(memoryMb), threads: Number(threads), onBucket, goesOn });
const peakMb = Math.round(process.resourceUsage().maxRSS / 1_024);
process.stdout.write(`${JSON.stringify({ peakMb })}\n`);
