import { describe, expect, it } from '@jest/globals';
import type { InboundEvent } from '#domain';
import type { RecordedEvent } from '#event-store';
import { foldInbound } from './fold.js';
import { problemOf } from './sentences.js';
import type { InboundDocumentRow } from './row.js';

const SHA = 'a'.repeat(64);
const documentId = 'd1';
const SEEN: InboundEvent = {
  type: 'InboundSeen',
  data: {
    ...{ documentId, direction: 'outgoing', channel: 'cabinet', account: 'main' },
    ...{ status: 'processed', answerSha256: SHA },
  },
};
const UNREADABLE: InboundEvent = {
  type: 'InboundDownloaded',
  data: { documentId, documentSha256: SHA, byteLength: 1, content: { problem: 'no XML' } },
};
const NO_COPY: InboundEvent = {
  type: 'InboundDownloadGivenUp',
  data: { documentId, reason: 'not there', attempts: 14 },
};
const NO_RECEIPT: InboundEvent = {
  type: 'InboundReceiptGivenUp',
  data: { documentId, reason: 'archived', attempts: 14 },
};
const again = (...parts: ('document' | 'receipt')[]): InboundEvent => ({
  type: 'InboundAskedAgain',
  data: { documentId, direction: 'outgoing', account: 'main', parts },
});

const problemAfter = (...events: InboundEvent[]): string | null =>
  problemOf(
    [SEEN, ...events].reduce<InboundDocumentRow | undefined>(
      (row, event, i) =>
        foldInbound(row, { ...event, position: BigInt(i), recordedAt: new Date(0) } as unknown as RecordedEvent),
      undefined,
    ) as InboundDocumentRow,
  );

describe('the problem of a document of others', () => {
  const cannotBeRead = 'The document cannot be read: no XML';
  const noReceipt = 'There is no receipt to be had: archived';

  it('is both that of its bytes and that of its receipt, whichever came first', () => {
    expect(problemAfter(UNREADABLE, NO_RECEIPT)).toBe(`${cannotBeRead}. ${noReceipt}`);
    expect(problemAfter(NO_RECEIPT, UNREADABLE)).toBe(`${cannotBeRead}. ${noReceipt}`);
    expect(problemAfter(NO_RECEIPT, NO_COPY)).toBe(`The registry does not give the document: not there. ${noReceipt}`);
  });

  it('is told apart whatever words the registry says', () => {
    const reason = 'not there. There is no receipt to be had: neither';
    const noCopy: InboundEvent = { type: 'InboundDownloadGivenUp', data: { documentId, reason, attempts: 14 } };
    expect(problemAfter(noCopy, NO_RECEIPT, again('receipt'))).toBe(
      `The registry does not give the document: ${reason}`,
    );
  });

  it('stays of what is not asked for again', () => {
    expect(problemAfter(UNREADABLE, NO_RECEIPT, again('receipt'))).toBe(cannotBeRead);
    expect(problemAfter(NO_COPY, NO_RECEIPT, again('document', 'receipt'))).toBeNull();
    expect(problemAfter(NO_COPY, again('document'))).toBeNull();
    expect(problemAfter(NO_RECEIPT, again('receipt'))).toBeNull();
  });
});
