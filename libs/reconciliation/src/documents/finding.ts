import { neverReached, type JsonObject } from '#kernel';

export const FINDING_KINDS = ['missing_at_registry', 'status_differs', 'held_twice', 'overdue'] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** A difference between a document as we hold it and as the registry's lists show it. */
export interface Finding {
  kind: FindingKind;
  /** Of the reason codes that all comparisons share. */
  reasonCode: 'missing_in_registry' | 'status_mismatch' | 'duplicate_in_registry' | 'overdue_document';
  requestId: string;
  documentId?: string;
  account?: string;
  docType?: number;
  /** What was compared. */
  detail: JsonObject;
}

export const REASON_CODES: Record<FindingKind, Finding['reasonCode']> = {
  missing_at_registry: 'missing_in_registry',
  status_differs: 'status_mismatch',
  held_twice: 'duplicate_in_registry',
  overdue: 'overdue_document',
};

/** What a finding means, and what to do. */
export function wordsForFinding({ kind, detail }: Pick<Finding, 'kind' | 'detail'>): {
  sentence: string;
  remedy: string;
} {
  switch (kind) {
    case 'missing_at_registry':
      return {
        sentence: `We hold the document to be ${String(detail['outcome'])}, and no list of the registry has shown it.`,
        remedy:
          'Look the document up in the cabinet of the registry; when it is not there either, ask its operator ' +
          'with the receipt as evidence.',
      };
    case 'status_differs':
      return {
        sentence:
          `We hold the document to be ${String(detail['outcome'])}, and the list of the registry shows it as ` +
          `${String(detail['status'])}.`,
        remedy: 'Compare the receipt that we keep with the document in the cabinet of the registry.',
      };
    case 'held_twice':
      return {
        sentence: `The registry holds ${String(detail['count'])} documents under one request_id.`,
        remedy: 'Compare what the documents did to their packs, and undo the one too many by its own document.',
      };
    case 'overdue':
      return {
        sentence: 'The document has had no outcome for longer than its type may take.',
        remedy: 'Look at its timeline: it says what the document waits for.',
      };
    default:
      return neverReached(kind, 'kind of finding');
  }
}
