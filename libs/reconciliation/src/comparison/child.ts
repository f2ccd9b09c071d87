import { doBuckets } from './buckets-of-run.js';

/** The process of a comparison: child.js FOLDER MEMORY_MB THREADS. DuckDB's memory is its own, and ends with it. */
const [, , folder = '', memoryMb = '', threads = ''] = process.argv;
const onBucket = (bucket: number): void => void process.stdout.write(`${JSON.stringify({ bucket })}\n`);
await doBuckets({ folder, memoryMb: Number(memoryMb), threads: Number(threads), onBucket });
const peakMb = Math.round(process.resourceUsage().maxRSS / 1_024);
process.stdout.write(`${JSON.stringify({ peakMb })}\n`);
