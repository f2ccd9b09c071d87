import { randomUUID } from 'node:crypto';
import { typedEvent, type EventMetadata, type EventStore } from '#event-store';
import { canonicalJson, sha256Hex, systemClock, uuid5, type Clock, type Sha256 } from '#kernel';
import { nameTransaction, transactionError, type Pool, type Transaction } from '#postgres';
import { compareDocuments, type ComparisonResult, type ComparisonRules } from '../documents/compare.js';
import type { Finding } from '../documents/finding.js';
import { listedDocuments, namelessDocuments, ownDocuments, readPinned, type Pinned } from '../documents/read-sides.js';
import { removeOtherAttempts, writeFindings } from './findings.js';
import { findRequest, runStream, type RunRequest } from './request.js';

/** What a run went by: everything that its findings follow from. */
export interface RunStarted {
  runId: string;
  asOf: string;
  positions: Pinned['positions'];
  coverage: Pinned['coverage'];
  rules: RunRules;
  /** SHA-256 over the sorted canonical rows of both sides. */
  digests: Pick<ComparisonResult['digests'], 'documents' | 'listed'>;
  /** Over all of this. */
  inputsDigest: Sha256;
}

export interface RunCompleted {
  runId: string;
  /** Names the rows of the findings. */
  attempt: string;
  counts: ComparisonResult['counts'];
  /** Outgoing documents that are not ours, by channel. */
  notOurs: Record<string, number>;
  findings: number;
  /** Findings beyond those that are kept one by one; their digest covers all. */
  findingsLeftOut?: number;
  findingsDigest: Sha256;
  /** Over inputs, counts and findings: two runs over the same have the same. */
  digest: Sha256;
}

export interface RunRules extends Pick<ComparisonRules, 'missingAfterMs' | 'overdueAfterMs' | 'overdueAfterMsByType'> {
  /** Documents registered longer ago are not compared, unless they have no outcome. */
  windowMs: number;
}

export interface RunOptions {
  pool: Pool;
  store: Pick<EventStore, 'append' | 'readStream'>;
  installation: { id: string; participant: string; softwareVersion: string; profile: string };
  rules: RunRules;
  clock?: Clock;
}

/** No transaction outlives 30 s (principles 9). */
const LONGEST_READING_MS = 25_000;
const MOST_FINDINGS = 100_000;
const FINDINGS_AT_ONCE = 500;

/**
 * Makes the run that was asked for, once: a repeat after a crash compares anew and records nothing where a run is
 * recorded. Both sides are read in one snapshot of the database; findings are stored before the events that name them.
 * Throws when reading takes longer than a transaction may.
 */
export async function makeRun(options: RunOptions, runId: string): Promise<void> {
  const { pool, store, installation } = options;
  const request = await findRequest(pool, runId);
  if (request === undefined) throw new Error(`nobody asked for the run ${runId}`);
  const stream = runStream(runId);
  if ((await store.readStream(stream)).length === 0) {
    const attempt = randomUUID();
    const [started, completed] = await compareNow(options, { runId, attempt });
    const metadata = metadataOf(options, request);
    const event = (type: string, data: object) => ({
      id: uuid5(`${stream}:${type}`, installation.id),
      type,
      schemaVersion: 1,
      data,
      metadata,
    });
    await store.append(stream, 'none', [event('RunStarted', started), event('RunCompleted', completed)]);
  }
  // Another may have been first: then its findings are the ones.
  const recorded = (await store.readStream(stream)).find((event) => event.type === 'RunCompleted');
  if (recorded === undefined) throw new Error(`the run ${runId} is not in the log that it was written to`);
  await removeOtherAttempts(pool, runId, typedEvent<{ data: RunCompleted }>(recorded).data.attempt);
}

async function compareNow(
  options: RunOptions,
  { runId, attempt }: { runId: string; attempt: string },
): Promise<[RunStarted, RunCompleted]> {
  const { pool, rules } = options;
  const keeper = new FindingKeeper(pool, runId, attempt);
  const { pinned, counts, digests } = await inSnapshot(pool, (tx) => compareIn(tx, options, keeper));
  await keeper.flush();
  const { positions, coverage, notOurs } = pinned;
  const { documents, listed } = digests;
  const inputs = { asOf: pinned.asOf.toISOString(), positions, coverage, rules, digests: { documents, listed } };
  const inputsDigest = sha256Hex(canonicalJson({ ...inputs, notOurs }));
  const outcome = { counts, notOurs, findings: keeper.found, findingsDigest: digests.findings };
  const left = keeper.found - Math.min(keeper.found, MOST_FINDINGS);
  return [
    { runId, ...inputs, inputsDigest },
    {
      runId,
      attempt,
      ...outcome,
      ...(left === 0 ? {} : { findingsLeftOut: left }),
      digest: sha256Hex(canonicalJson({ inputsDigest, ...outcome })),
    },
  ];
}

/** Compares what one snapshot of the database shows of both sides. */
async function compareIn(tx: Transaction, { rules, clock = systemClock }: RunOptions, keeper: FindingKeeper) {
  const pinned = await readPinned(tx);
  const since = new Date(pinned.asOf.getTime() - rules.windowMs);
  const sides = {
    own: inTime(ownDocuments(tx, since), clock),
    listed: listedDocuments(tx, since),
    nameless: await namelessDocuments(tx, since),
  };
  const moment = { ...rules, asOf: pinned.asOf.toISOString(), coverage: pinned.coverage };
  return { pinned, ...(await compareDocuments(moment, sides, (finding) => keeper.keep(finding))) };
}

/** Stores findings as they come, so that few are held. */
class FindingKeeper {
  found = 0;
  private waiting: { n: number; finding: Finding }[] = [];

  constructor(
    private readonly pool: Pool,
    private readonly runId: string,
    private readonly attempt: string,
  ) {}

  async keep(finding: Finding): Promise<void> {
    this.found += 1;
    if (this.found > MOST_FINDINGS) return;
    this.waiting.push({ n: this.found, finding });
    if (this.waiting.length >= FINDINGS_AT_ONCE) await this.flush();
  }

  async flush(): Promise<void> {
    await writeFindings(this.pool, { runId: this.runId, attempt: this.attempt, findings: this.waiting.splice(0) });
  }
}

async function inSnapshot<T>(pool: Pool, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const tx = await pool.connect();
  let broken: Error | undefined;
  try {
    nameTransaction(tx, 'both sides of a reconciliation');
    await tx.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    // Before there is a snapshot: tables that a rebuild put in their place after it would look empty to it.
    await tx.query('LOCK TABLE document_outcome, inbound_document IN ACCESS SHARE MODE');
    return await work(tx);
  } catch (error) {
    throw transactionError(tx, error);
  } finally {
    await tx.query('ROLLBACK').catch((error: Error) => (broken = error));
    tx.release(broken);
  }
}

/** Ends a reading that takes too long: its snapshot would keep the database from clearing up. */
async function* inTime<T>(rows: AsyncIterable<T>, clock: Clock): AsyncGenerator<T> {
  const begunMs = clock.monotonicMs();
  for await (const row of rows) {
    if (clock.monotonicMs() - begunMs > LONGEST_READING_MS)
      throw new Error(`reading the documents took longer than ${LONGEST_READING_MS} ms: shorten RECONCILE_WINDOW_DAYS`);
    yield row;
  }
}

export function metadataOf(
  { installation, clock = systemClock }: Pick<RunOptions, 'installation' | 'clock'>,
  { runId, actor, reason }: RunRequest,
): EventMetadata {
  const { participant, softwareVersion, profile } = installation;
  return {
    participant,
    actor,
    reason,
    softwareVersion,
    profile,
    effectiveAt: clock.now().toISOString(),
    correlationId: runId,
    causationId: `reconcile:${runId}`,
  };
}
