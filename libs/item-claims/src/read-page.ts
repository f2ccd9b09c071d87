import type {
  ContainerContentObserved,
  DocumentEvent,
  GroupEvent,
  InboundConcluded,
  PlannedTask,
  Registration,
} from '#domain';
import { RECALL, type DocumentFacts } from '#documents';
import type { RecordedEvent } from '#event-store';
import { getUndamaged, type EvidenceStore } from '#evidence';
import type { Clock, Sha256 } from '#kernel';
import type { Transaction } from '#postgres';
import { PAGE_BOUNDS, withinBytes } from '#read-models';
import type { TaskQueue } from '#tasks';
import { namedItemsOf, type NamedItems } from './named-items.js';

export type ClaimEvent = RecordedEvent & (DocumentEvent | GroupEvent | InboundConcluded | ContainerContentObserved);

type ContentType = ContainerContentObserved['type'];

/** What happens to a document or a group that is registered. */
export type MovingEvent = Exclude<
  ClaimEvent,
  { type: 'DocumentRegistered' | 'GroupRegistered' | 'ConclusionRevised' | 'InboundConcluded' | ContentType }
>;

/** The document or group of a stream. */
export const unitOf = (stream: string): string => stream.slice(stream.indexOf('-') + 1);

/** It waits for nobody but by its items, takes nobody's place, and nobody waits for it yet. */
export const isPlain = ({ after, resendOf, requestId }: Registration, expected: Set<string>): boolean =>
  after.length === 0 && resendOf === undefined && !expected.has(requestId);

/** How documents are read; `documentReading()` of libs/documents. */
interface ItemReading {
  readDocument(bytes: Uint8Array, sha256: Sha256): DocumentFacts;
  readForeignDocument(bytes: Uint8Array): DocumentFacts;
}

interface ReadPage {
  /** Those that one transaction takes, from the first. */
  events: ClaimEvent[];
  /** By digest. One that is missing, damaged or cannot be read is absent: it claims nothing, and its send says why. */
  named: Map<Sha256, NamedItems>;
}

/** What the subscription works with. */
export interface ItemClaimsParts {
  evidence: EvidenceStore;
  documents: ItemReading;
  queue: Pick<TaskQueue<PlannedTask>, 'schedule'>;
  /** How long a page takes. Default: the system's. */
  clock?: Pick<Clock, 'monotonicMs'>;
}

/** What one page is worked with. */
export interface PageOptions extends ItemClaimsParts {
  tx: Transaction;
  handledAt: Date;
  named: Map<Sha256, NamedItems>;
  /** Up to here the version before planned the first sends: nothing is decided about those. */
  start: bigint;
  claims(requestId: string, position: bigint): boolean;
}

type Parts = Pick<ItemClaimsParts, 'evidence' | 'documents'>;

/** Reads what the registrations of a page name, as far as the page's bounds go. `claims`: which of them claim. */
export async function readPage(
  page: ClaimEvent[],
  { evidence, documents }: Parts,
  claims: (requestId: string, position: bigint) => boolean,
): Promise<ReadPage> {
  const digestsOf = (event: ClaimEvent): Sha256[] =>
    event.type === 'DocumentRegistered' && claims(event.data.requestId, event.position)
      ? [event.data.documentSha256]
      : [];
  const fitting = await withinBytes(page, digestsOf, { evidence, bytes: PAGE_BOUNDS.bytes });
  const events = withinItems(page.slice(0, fitting));
  const digests = [...new Set(events.flatMap(digestsOf))];
  // One that is damaged would hold up every document for ever.
  const bytes = await getUndamaged(evidence, digests);
  const named = [...bytes].flatMap(([sha256, xml]): [Sha256, NamedItems][] => {
    const facts = readable(() => documents.readDocument(xml, sha256));
    return facts === undefined ? [] : [[sha256, namedItemsOf(facts)]];
  });
  return { events, named: new Map(named) };
}

/** A page ends with the document that brings it to so many items; a recall may concern as many by its operation. */
function withinItems(events: ClaimEvent[]): ClaimEvent[] {
  let items = 0;
  const last = events.findIndex(({ type, data }) => {
    if (type === 'DocumentRegistered') items += data.docType === RECALL ? PAGE_BOUNDS.items : data.itemCount;
    if (type === 'ContainerContentObserved') items += data.packs + data.containers;
    return items >= PAGE_BOUNDS.items;
  });
  return last === -1 ? events : events.slice(0, last + 1);
}

/** One document alone: of others, or one whose end was revised. */
export async function readOne(
  sha256: Sha256,
  parts: Pick<Parts, 'evidence'>,
  read: (bytes: Uint8Array) => DocumentFacts,
): Promise<NamedItems | undefined> {
  const facts = await readEvidence(sha256, parts, read);
  return facts === undefined ? undefined : namedItemsOf(facts);
}

/** Undefined where it is missing, damaged, or cannot be read. */
export async function readEvidence<Told>(
  sha256: Sha256,
  { evidence }: Pick<Parts, 'evidence'>,
  read: (bytes: Uint8Array) => Told,
): Promise<Told | undefined> {
  const bytes = (await getUndamaged(evidence, [sha256])).get(sha256);
  return bytes === undefined ? undefined : readable(() => read(bytes));
}

function readable<Told>(read: () => Told): Told | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Which documents of before are open, where the page begins before this subscription was there. */
export async function openAmong(tx: Transaction, requestIds: string[]): Promise<Set<string>> {
  const text =
    'SELECT r.id FROM unnest($1::text[]) AS r(id) LEFT JOIN document_outcome d ON d.request_id = r.id ' +
    'WHERE d.outcome IS NULL';
  const { rows } = await tx.query<{ id: string }>(text, [requestIds]);
  return new Set(rows.map((row) => row.id));
}
