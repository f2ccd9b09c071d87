import {
  documentStream,
  type DocumentCommand,
  type DocumentConcluded,
  type DocumentEvent,
  type DocumentState,
} from '#domain';
import type { EventStore } from '#event-store';
import type { Tracing } from '#telemetry';
import { DocumentRepository } from '../document/document-repository.js';
import type { Cause, Decided, RepositoryOptions } from '../aggregate/aggregate-repository.js';

export interface ObservedDocumentsOptions extends RepositoryOptions {
  tracing: Tracing;
  onError: (error: unknown) => void;
}

/** Documents whose conclusions are counted, and told as whole traces. */
export class ObservedDocuments extends DocumentRepository {
  /** Conclusions of this process since it began. */
  concluded = 0;

  constructor(private readonly watched: ObservedDocumentsOptions) {
    super(watched);
  }

  override async execute(
    requestId: string,
    command: DocumentCommand,
    cause: Cause,
  ): Promise<Decided<DocumentState, DocumentEvent>> {
    const decided = await super.execute(requestId, command, cause);
    const conclusion = decided.events.find((event): event is DocumentConcluded => event.type === 'DocumentConcluded');
    if (conclusion !== undefined) {
      this.concluded += 1;
      // Nobody waits for a trace: what goes wrong with it is said and costs the trace.
      void this.tell(requestId, conclusion).catch(this.watched.onError);
    }
    return decided;
  }

  private async tell(requestId: string, { data }: DocumentConcluded): Promise<void> {
    const { tracing, store, clock } = this.watched;
    if (!tracing.isOn) return;
    const endedAt = clock.now();
    const startedAt = await registeredAt(store, requestId);
    const attributes = { 'pedigree.outcome': data.outcome, 'pedigree.doc_type': data.docType };
    if (startedAt !== undefined)
      tracing.document({
        requestId,
        startedAt,
        endedAt,
        attributes,
        ...(data.cause === undefined ? {} : { error: data.cause }),
      });
  }
}

async function registeredAt(store: EventStore, requestId: string): Promise<Date | undefined> {
  const [first] = await store.readStream(documentStream(requestId), { limit: 1 });
  return first?.recordedAt;
}
