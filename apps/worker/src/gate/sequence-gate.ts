import { documentStream, type GateFinding, type GatePolicy, type Registration } from '#domain';
import type { DocumentFacts } from '#documents';
import type { EventStore } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Clock, Sha256 } from '#kernel';
import type { Pool } from '#postgres';
import { knownUpTo, packsAgainst } from '#read-models';
import { gatePolicyOf, type GatePolicies } from './gate-policies.js';

export interface SequenceGateOptions {
  pool: Pool;
  clock: Pick<Clock, 'monotonicMs'>;
  store: Pick<EventStore, 'readStream'>;
  evidence: Pick<EvidenceStore, 'get'>;
  documents: { readDocument(bytes: Uint8Array, sha256: Sha256): DocumentFacts };
  policies: GatePolicies;
  warn(about: object, message: string): void;
}

/** A record of packs that stands still for so long is waited for no longer. */
export const STILL_MS = 600_000;
/** Most events that a document has before its first send; what comes later is not asked for. */
const MOST_EVENTS = 1_000;

/** How far the states of packs are told, and for how long this process has seen it behind at that position. */
interface RecordStanding {
  position: bigint;
  stillMs: number;
}

/** What the worker knows of packs when a document is about to be sent, and what the installation wants done. */
export class SequenceGate {
  /** The record of packs is known to have come so far: most documents need no question. */
  private reached = 0n;
  /** Where it was behind when it was looked at last, and since when. Where nothing is to do it stands, and is well. */
  private standing: { position: bigint; sinceMs: number; isTold: boolean } | undefined;

  constructor(private readonly options: SequenceGateOptions) {}

  policyOf(docType: number): GatePolicy {
    return gatePolicyOf(docType, this.options.policies);
  }

  /** The log position that the record of packs must have reached: that of what let the document go. */
  async neededAt(requestId: string, planned: string | undefined): Promise<bigint> {
    if (planned !== undefined) return BigInt(planned);
    const events = await this.options.store.readStream(documentStream(requestId), { limit: MOST_EVENTS });
    return events.at(-1)?.position ?? 0n;
  }

  /** How far the record of packs is; undefined when it has reached `neededAt`. That it stands still is said once. */
  async behind(neededAt: bigint): Promise<RecordStanding | undefined> {
    if (neededAt <= this.reached) return undefined;
    const { pool, clock } = this.options;
    const position = await knownUpTo(pool);
    this.reached = position;
    if (position >= neededAt) return undefined;
    const nowMs = clock.monotonicMs();
    if (this.standing?.position !== position) this.standing = { position, sinceMs: nowMs, isTold: false };
    const stillMs = nowMs - this.standing.sinceMs;
    if (stillMs >= STILL_MS) this.tellOnce(neededAt, { position, stillMs });
    return { position, stillMs };
  }

  private tellOnce(neededAt: bigint, { position, stillMs }: RecordStanding): void {
    if (this.standing === undefined || this.standing.isTold) return;
    this.standing.isTold = true;
    this.options.warn(
      { position: String(position), neededAt: String(neededAt), stillMs },
      'the record of packs stands still: sends wait for it no longer',
    );
  }

  /** The packs of a document that speak against it; undefined where its bytes cannot be read: its send says that. */
  async judge({ docType, subjectId, documentSha256 }: Registration): Promise<GateFinding | undefined> {
    const { pool, evidence, documents } = this.options;
    const blob = await evidence.get(documentSha256);
    const facts =
      blob === undefined ? undefined : readOrNothing(() => documents.readDocument(blob.bytes, documentSha256));
    if (facts === undefined) return undefined;
    const { fields } = facts;
    return packsAgainst(pool, { docType, subjectId, fields, items: facts.items.map(({ id }) => id) });
  }
}

/** The facts of a document; undefined where its bytes cannot be read. */
export function readOrNothing(facts: () => DocumentFacts): DocumentFacts | undefined {
  try {
    return facts();
  } catch {
    return undefined;
  }
}
