import { proofLines } from '#sealed-log';
import { verifyProofLines } from '#proofs';
import { PostgresEventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { newSigningKey, noteSigner } from '#merkle';
import type { Pool } from '#postgres';
import { median } from '../in-turns.js';
import { fillTree, type TreeSizes } from './filled-tree.js';

export interface ProofSizes extends TreeSizes {
  /** Proofs that are made and verified. */
  calls: number;
}

export interface ProofFigures {
  proofP50Ms: number;
  proofP99Ms: number;
  /** Of a stream's file, whole: signature, count, events and evidence. */
  fileVerifyUs: number;
  /** The same for each event that is proven in it. */
  verifyUs: number;
  bareQueryMs: number;
}

/** Numbers far apart and in no order, the same in each run: 7,919 is a prime. */
const scattered = (n: number): number => n * 7_919;

/** The proof of a document with its evidence in a large tree, one caller; a tenth warms up and is not counted. */
export async function proofs(pool: Pool, { calls, ...sizes }: ProofSizes): Promise<ProofFigures> {
  const store = new PostgresEventStore({ pool });
  const evidence = new PostgresEvidenceStore({ pool });
  try {
    const signer = noteSigner('bench.example/log', newSigningKey());
    const filled = await fillTree({ pool, store, evidence, signer }, sizes);
    const made: string[][] = [];
    const took = await times(calls, async (n) => {
      const lines: string[] = [];
      for await (const line of proofLines({ pool, store }, filled.stream(scattered(n))))
        lines.push(JSON.stringify(line));
      made[n] = lines;
    });
    let events = 0;
    const verified = await times(calls, async (n) => {
      events = (await verifyProofLines(each(made[n] as string[]), filled.verifierKey)).events;
    });
    const bare = await times(calls, () => pool.query('SELECT 1'));
    const fileVerifyUs = median(verified) * 1_000;
    return {
      proofP50Ms: median(took),
      proofP99Ms: took[Math.ceil(took.length * 0.99) - 1] as number,
      fileVerifyUs,
      verifyUs: fileVerifyUs / events,
      bareQueryMs: median(bare),
    };
  } finally {
    await store.close();
  }
}

async function* each(lines: string[]): AsyncGenerator<string> {
  yield* lines;
}

/** Milliseconds of each call, the shortest first. */
async function times(calls: number, call: (n: number) => Promise<unknown>): Promise<number[]> {
  const took: number[] = [];
  for (let n = -Math.ceil(calls / 10); n < calls; n += 1) {
    const begunMs = performance.now();
    await call(Math.abs(n) % calls);
    if (n >= 0) took.push(performance.now() - begunMs);
  }
  return took.sort((a, b) => a - b);
}
