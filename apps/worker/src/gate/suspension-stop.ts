import type { Registration, SuspensionFinding, UnknownSeriesPolicy } from '#domain';
import type { DocumentFacts } from '#documents';
import type { EventStore } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Sha256 } from '#kernel';
import type { Pool } from '#postgres';
import { packsStopped, SuspensionsInForce, type InForce } from '#read-models';
import { readOrNothing } from './sequence-gate.js';

export interface SuspensionStopOptions {
  pool: Pool;
  store: Pick<EventStore, 'readAll' | 'head'>;
  evidence: Pick<EvidenceStore, 'get'>;
  documents: { readDocument(bytes: Uint8Array, sha256: Sha256): DocumentFacts };
  /** From the profile. */
  rules: { stops: Readonly<Record<string, readonly number[]>>; unknownSeries: UnknownSeriesPolicy };
}

/** What the worker knows of suspensions when a document is about to be sent, and what the profile wants done. */
export class SuspensionStop {
  readonly unknownSeries: UnknownSeriesPolicy;
  private readonly stopped: ReadonlySet<number>;
  private readonly suspensions: SuspensionsInForce;

  constructor(private readonly options: SuspensionStopOptions) {
    const { rules, pool, store } = options;
    this.unknownSeries = rules.unknownSeries;
    this.stopped = new Set(Object.values(rules.stops).flat());
    this.suspensions = new SuspensionsInForce({ pool, store });
  }

  stops(docType: number): boolean {
    return this.stopped.has(docType);
  }

  /** Every suspension that stands in the log when this is asked. */
  inForce(): Promise<InForce> {
    return this.suspensions.now();
  }

  /** Undefined where the bytes of the document cannot be read: its send says that. */
  async judge({ documentSha256 }: Registration, inForce: InForce): Promise<SuspensionFinding | undefined> {
    const { pool, evidence, documents } = this.options;
    const blob = await evidence.get(documentSha256);
    const facts = blob && readOrNothing(() => documents.readDocument(blob.bytes, documentSha256));
    return facts && packsStopped(pool, inForce, facts);
  }
}
