import {
  byBytes,
  compareDocuments,
  type ComparisonResult,
  type ComparisonRules,
  type ListedDocument,
  type OwnDocument,
} from '../src/documents/compare.js';
import type { Finding } from '../src/documents/finding.js';

const HOUR_MS = 3_600_000;

export const RULES: ComparisonRules = {
  asOf: '2026-03-10T12:00:00.000Z',
  coverage: [{ account: 'main', from: '2026-03-01T00:00:00.000Z', to: '2026-03-10T11:59:00.000Z' }],
  missingAfterMs: HOUR_MS,
  overdueAfterMs: 24 * HOUR_MS,
  overdueAfterMsByType: { 415: 72 * HOUR_MS },
};

export const own = (requestId: string, over: Partial<OwnDocument> = {}): OwnDocument => ({
  requestId,
  documentId: `d-${requestId}`,
  account: 'main',
  docType: 701,
  outcome: 'accepted',
  registeredAt: '2026-03-09T08:00:00.000Z',
  concludedAt: '2026-03-09T09:00:00.000Z',
  ...over,
});

export const listed = (requestId: string, over: Partial<ListedDocument> = {}): ListedDocument => ({
  requestId,
  documentId: `d-${requestId}`,
  status: 'processed',
  statusAt: '2026-03-09T09:00:01.000Z',
  ...over,
});

async function* each<T>(rows: T[]): AsyncGenerator<T> {
  yield* rows;
}

/** Compares rows that come in any order: they are brought into order as the database does. */
export async function compare(
  ours: OwnDocument[],
  theirs: ListedDocument[],
  rules: ComparisonRules = RULES,
): Promise<ComparisonResult & { findings: Finding[] }> {
  const findings: Finding[] = [];
  const nameless = new Map(theirs.filter((one) => one.requestId === '').map((one) => [one.documentId, one]));
  const named = theirs
    .filter((one) => one.requestId !== '')
    .sort((a, b) => byBytes(a.requestId, b.requestId) || byBytes(a.documentId, b.documentId));
  const result = await compareDocuments(
    rules,
    { own: each([...ours].sort((a, b) => byBytes(a.requestId, b.requestId))), listed: each(named), nameless },
    (finding) => void findings.push(finding),
  );
  return { ...result, findings };
}

export const unordered = (ours: OwnDocument[]): Promise<unknown> =>
  compareDocuments(RULES, { own: each(ours), listed: each<ListedDocument>([]), nameless: new Map() }, () => undefined);
