import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { answerProofLines, proofLines, type AnswerToProve } from '#sealed-log';
import { verifyProofLines, type ProofLine } from '#proofs';
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
  /** The first proof of a process. */
  firstProofMs: number;
  proofP50Ms: number;
  proofP99Ms: number;
  /** Of this process alone. */
  proofCpuMs: number;
  /** What `?proof=1` adds to the answer about such a document. */
  answerProofP99Ms: number;
  /** Of a stream's file, whole: signature, count, events and evidence. */
  fileVerifyUs: number;
  /** The same for each event that is proven in it. */
  verifyUs: number;
  /** CPU of that. */
  verifyCpuUs: number;
  bareQueryMs: number;
  /** One check of an Ed25519 signature alone: a file has two, of the checkpoint and of the counts. */
  bareSignatureUs: number;
}

/** As long as the text of a checkpoint. */
const BYTES_OF_NOTE = 150;

/** Numbers far apart and in no order, the same in each run: 7,919 is a prime. */
const scattered = (n: number): number => n * 7_919;

/**
 * The proof of a document in a large tree, one caller: its six events with their paths, the signed count of its stream,
 * the checkpoint, and two pieces of evidence, each line as text. Each proof is of another document than the one before.
 * A tenth warms up and is not counted.
 */
export async function proofs(pool: Pool, { calls, ...sizes }: ProofSizes): Promise<ProofFigures> {
  const store = new PostgresEventStore({ pool });
  const evidence = new PostgresEvidenceStore({ pool });
  try {
    const signer = noteSigner('bench.example/log', newSigningKey());
    const filled = await fillTree({ pool, store, evidence, signer }, sizes);
    const made: string[][] = [];
    const prove = async (n: number): Promise<void> => {
      made[n] = await textOf(proofLines({ pool, store }, filled.stream(scattered(n))));
    };
    const beforeFirst = performance.now();
    await prove(0);
    const firstProofMs = performance.now() - beforeFirst;
    const proving = await times(calls, prove);
    const position = await store.head();
    const answering = await times(calls, (n) =>
      textOf(answerProofLines({ pool, store }, answerOf(filled.stream(scattered(n)), position))),
    );
    let events = 0;
    const verifying = await times(calls, async (n) => {
      events = (await verifyProofLines(each(made[n] as string[]), filled.verifierKey)).events;
    });
    const bare = await times(calls, () => pool.query('SELECT 1'));
    const bareSignature = await times(calls, signatureCheck());
    return {
      firstProofMs,
      proofP50Ms: median(proving.ms),
      proofP99Ms: p99Of(proving),
      proofCpuMs: proving.cpuMs,
      answerProofP99Ms: p99Of(answering),
      fileVerifyUs: median(verifying.ms) * 1_000,
      verifyUs: (median(verifying.ms) * 1_000) / events,
      verifyCpuUs: (verifying.cpuMs * 1_000) / events,
      bareQueryMs: median(bare.ms),
      bareSignatureUs: median(bareSignature.ms) * 1_000,
    };
  } finally {
    await store.close();
  }
}

/** One check of a signature, and nothing else. */
function signatureCheck(): () => Promise<boolean> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const text = Buffer.alloc(BYTES_OF_NOTE, 'x');
  const signature = sign(null, text, privateKey);
  return () => Promise.resolve(verify(null, text, publicKey, signature));
}

/** About three kilobytes, as the answer about a document. Nothing reads what it says. */
const answerOf = (stream: string, position: bigint): AnswerToProve => ({
  route: `/v1/documents/${stream.replace('document-', '')}`,
  readAt: new Date('2026-01-15T09:00:00.000Z'),
  position,
  software: '0',
  body: JSON.stringify({ request_id: stream, words: 'x'.repeat(3_000) }),
  streams: [{ stream }],
});

async function textOf(lines: AsyncGenerator<ProofLine>): Promise<string[]> {
  const text: string[] = [];
  for await (const line of lines) text.push(JSON.stringify(line));
  return text;
}

async function* each(lines: string[]): AsyncGenerator<string> {
  yield* lines;
}

interface Times {
  /** Of each call, the shortest first. */
  ms: number[];
  /** CPU of this process for each. */
  cpuMs: number;
}

const p99Of = ({ ms }: Times): number => ms[Math.ceil(ms.length * 0.99) - 1] as number;

async function times(calls: number, call: (n: number) => Promise<unknown>): Promise<Times> {
  for (let n = 0; n < calls / 10; n += 1) await call(n);
  const ms: number[] = [];
  const before = process.cpuUsage();
  for (let n = 0; n < calls; n += 1) {
    const begunMs = performance.now();
    await call(n);
    ms.push(performance.now() - begunMs);
  }
  const { user, system } = process.cpuUsage(before);
  return { ms: ms.sort((a, b) => a - b), cpuMs: (user + system) / 1_000 / calls };
}
