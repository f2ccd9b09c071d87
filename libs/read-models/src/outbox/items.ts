import { requestIdOfStream } from '#domain';
import type { DocumentFacts, ItemEffect, ReceiptFacts } from '#documents';
import type { EvidenceStore } from '#evidence';
import { defined, neverReached, type Sha256 } from '#kernel';
import { itemEffectsOf, type Conclusion, type OwnReading } from '../sgtin-history/movements.js';
import { MOST_ITEMS_INLINE, type OutcomeItems } from './cloud-event.js';

export const documentPath = (requestId: string): string => `/v1/documents/${requestId}`;

export interface ReadConclusion {
  items: OutcomeItems;
  receipt: ReceiptFacts | undefined;
}

/** One item of a concluded document, in the ERP's words: `accepted` is what a history calls applied. */
export interface OutcomeItem {
  id: string;
  result: 'accepted' | 'refused' | 'undetermined';
  code?: string;
  text?: string;
}

/**
 * What a conclusion's evidence says, from bytes that were fetched before. Throws when evidence that the event names is
 * missing.
 */
export function readConclusion(
  event: Conclusion,
  bytes: Map<Sha256, Buffer>,
  documents: OwnReading,
): ReadConclusion & { all: OutcomeItem[] } {
  const { receiptSha256, documentSha256 } = event.data;
  const receipt = receiptSha256 === undefined ? undefined : documents.readReceipt(present(bytes, receiptSha256, event));
  const facts = documents.readDocument(present(bytes, documentSha256, event), documentSha256);
  const all = itemsIn(event, { facts, receipt }, documents);
  return { all, items: new ItemsByResult().add(all).told(requestIdOfStream(event.stream)), receipt };
}

export const digestsOf = ({ data }: Conclusion): Sha256[] =>
  data.receiptSha256 === undefined ? [data.documentSha256] : [data.documentSha256, data.receiptSha256];

/** Every item of a concluded document with its result, read from the evidence. */
export async function conclusionItems(
  event: Conclusion,
  evidence: EvidenceStore,
  documents: OwnReading,
): Promise<OutcomeItem[]> {
  return readConclusion(event, await evidence.getMany(digestsOf(event)), documents).all;
}

function itemsIn(
  event: Conclusion,
  read: { facts: DocumentFacts; receipt: ReceiptFacts | undefined },
  documents: OwnReading,
): OutcomeItem[] {
  return itemEffectsOf(event, read, documents).map(({ item, result, errorCode, errorText }) => ({
    id: item.id,
    result: resultOf(result),
    ...defined({ code: errorCode, text: errorText }),
  }));
}

function resultOf(result: ItemEffect['result']): OutcomeItem['result'] {
  switch (result) {
    case 'applied':
      return 'accepted';
    case 'refused':
    case 'undetermined':
      return result;
    default:
      return neverReached(result, 'item result');
  }
}

/** Items by result, of one document or of all parts of one. Of many it keeps no more than are listed. */
export class ItemsByResult {
  private readonly counts = { accepted: 0, refused: 0, undetermined: 0 };
  private readonly listed: Record<OutcomeItem['result'], Omit<OutcomeItem, 'result'>[]> = {
    accepted: [],
    refused: [],
    undetermined: [],
  };

  add(all: OutcomeItem[]): this {
    for (const { result, ...item } of all) {
      this.counts[result] += 1;
      if (this.counts[result] <= MOST_ITEMS_INLINE) this.listed[result].push(item);
    }
    return this;
  }

  /** `requestId`: under which they are read page by page. */
  told(requestId: string): OutcomeItems {
    const { counts } = this;
    const of = (result: OutcomeItem['result']) => ({
      count: counts[result],
      ...(counts[result] > MOST_ITEMS_INLINE ? {} : { items: this.listed[result] }),
    });
    const count = counts.accepted + counts.refused + counts.undetermined;
    return {
      count,
      accepted: of('accepted'),
      refused: of('refused'),
      undetermined: of('undetermined'),
      href: `${documentPath(requestId)}/items`,
    };
  }
}

function present(bytes: Map<Sha256, Buffer>, sha256: Sha256, event: Conclusion): Buffer {
  const found = bytes.get(sha256);
  if (found === undefined)
    throw new Error(
      `evidence ${sha256}, named by ${event.type} at position ${event.position} of ${event.stream}, is missing`,
    );
  return found;
}
