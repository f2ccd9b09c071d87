import { decide, type DocumentCommand } from '../src/document/decide.js';
import type { DocumentEvent, DocumentReference, Registration } from '../src/document/events.js';
import { ABSENT, evolve, type DocumentState } from '../src/document/state.js';
import type { DocumentMemory } from '../src/document/saga-state.js';

/** Words for the specs of a document: given these events, when this command, then those events. */
export const SHA = 'a'.repeat(64);
export const OTHER_SHA = 'b'.repeat(64);
export const DOCUMENT_ID = '5a7c1d9e-0000-4000-8000-000000000001';
export const FIRST: DocumentReference = { commandId: 'c-1', requestId: 'r-1' };
export const SECOND: DocumentReference = { commandId: 'c-2', requestId: 'r-2' };

export const registration = (after: DocumentReference[] = []): Registration => ({
  requestId: 'r-9',
  commandId: 'c-9',
  account: 'main',
  docType: 415,
  documentSha256: SHA,
  byteLength: 1_000,
  itemCount: 100,
  subjectId: '00000000000464',
  operationDate: '2026-03-01T10:00:00+03:00',
  after,
});

export const registered = (after: DocumentReference[] = []): DocumentEvent => ({
  type: 'DocumentRegistered',
  data: registration(after),
});
export const attempted = (attempt: number): DocumentEvent => ({
  type: 'SendAttempted',
  data: { attempt, account: 'main', signatureSha256: SHA, certificateSha256: SHA },
});
export const unconfirmed = (attempt: number): DocumentEvent => ({
  type: 'SendUnconfirmed',
  data: { attempt, reason: 'timeout' },
});
export const missed = (attempt: number, lookUp: number): DocumentEvent => ({
  type: 'LookUpMissed',
  data: { attempt, lookUp, sinceAttemptEndedMs: 2_000, answerSha256: SHA },
});
export const absenceProven = (attempt: number): DocumentEvent => ({
  type: 'SendAbsenceProven',
  data: { attempt, lookUps: 2, sinceAttemptEndedMs: 60_000, answerSha256: SHA },
});
export const sent = (attempt = 1, documentId = DOCUMENT_ID): DocumentEvent => ({
  type: 'DocumentSent',
  data: { attempt, documentId, answerSha256: SHA, foundByLookUp: false },
});
export const observed = (status: 'processing' | 'processed' | 'failed_result_ready' | 'failed'): DocumentEvent => ({
  type: 'StatusObserved',
  data: { documentId: DOCUMENT_ID, status, answerSha256: SHA },
});
export const concludedFailed: DocumentEvent = {
  type: 'DocumentConcluded',
  data: { outcome: 'failed', cause: 'registry_failed', docType: 415, documentSha256: SHA },
};

export const stateAfter = (events: DocumentEvent[]): DocumentState => events.reduce(evolve, ABSENT);
export const when = (given: DocumentEvent[], command: DocumentCommand): DocumentEvent[] =>
  decide(stateAfter(given), command);
export const typesOf = (events: DocumentEvent[]): string[] => events.map((event) => event.type);

/** What the saga remembers of a document once it is registered. */
export const REMEMBERED: DocumentMemory = { noun: 'document', phase: 'open', account: 'main', receiptsAsked: 0 };
