import { decideInbound, type InboundCommand } from '../src/inbound/decide.js';
import type { InboundContent, InboundEvent } from '../src/inbound/events.js';
import { evolveInbound, INBOUND_ABSENT, type InboundState, type Seen } from '../src/inbound/state.js';

/** Words for the specs of a document of others: given these events, when this command, then those events. */
export const SHA = 'c'.repeat(64);
export const OTHERS_ID = '5a7c1d9e-0000-4000-8000-00000000aaaa';

export const seenIncoming: Seen = {
  documentId: OTHERS_ID,
  requestId: 'r-theirs',
  direction: 'incoming',
  channel: 'counterparty',
  account: 'main',
  docType: 607,
  status: 'processed',
  receivedAt: '2026-03-01T10:00:00.000Z',
  processedAt: '2026-03-01T10:00:01.000Z',
  answerSha256: SHA,
};
export const seenOutgoing: Seen = {
  ...seenIncoming,
  direction: 'outgoing',
  channel: 'cabinet',
  docType: 431,
  status: 'processing',
};
export const content: InboundContent = {
  docType: 607,
  subjectId: '00000000300101',
  counterpartyId: '00000000100101',
  operationDate: '2026-03-01T13:00:00+03:00',
  itemCount: 2,
};

export const seen = (of: Seen): InboundEvent => ({ type: 'InboundSeen', data: of });
export const DOWNLOAD: InboundCommand = {
  type: 'RecordDownload',
  download: { documentSha256: SHA, byteLength: 10, content },
};
export const RECEIPT: InboundCommand = {
  type: 'RecordReceipt',
  receipt: { receiptSha256: SHA, result: 'partial', acceptedAt: '2026-03-01T10:00:02.000Z', errorCount: 1 },
};
export const observe = (status: Seen['status'], isLastWord = false): InboundCommand => ({
  type: 'ObserveStatus',
  status,
  isLastWord,
  answerSha256: SHA,
});

export const inboundAfter = (events: InboundEvent[]): InboundState => events.reduce(evolveInbound, INBOUND_ABSENT);
/** The events that these commands lead to, one after another. */
export const follow = (given: InboundEvent[], ...commands: InboundCommand[]): InboundEvent[] =>
  commands.reduce<InboundEvent[]>(
    (events, command) => [...events, ...decideInbound(inboundAfter([...given, ...events]), command)],
    [],
  );
