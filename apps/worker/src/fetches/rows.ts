import { defined } from '#kernel';
import type { FetchedDecision, FetchedPage, FetchedRow } from '#reconciliation';
import type { ListRecord, RawAnswer, SgtinAnswers, SgtinRecord } from '#registry-client';

/** A day as the registry writes it; other forms are left out. */
const dayOf = (text: string | undefined): string | undefined => /^\d{4}-\d{2}-\d{2}/.exec(text ?? '')?.[0];

function rowOf(record: SgtinRecord, answer: 'found' | 'archived', moment: string): FetchedRow {
  const { sgtin, status, place, sscc, series, expiresOn, funding, inn, movedAt, statusAt } = record;
  return {
    item: sgtin,
    answer,
    ...defined({ status, place, container: sscc, series, expiry: dayOf(expiresOn), moved_at: movedAt ?? statusAt }),
    ...defined({ funding, owner: inn }),
    moment,
  };
}

export function pageOfFilter(
  records: readonly SgtinRecord[],
  { body, receivedAt }: RawAnswer,
): FetchedPage<FetchedRow> {
  const rows = records.map((one) => rowOf(one, 'found', receivedAt.toISOString()));
  return { rows, missing: [], unanswered: [], answer: body, fetchedAt: receivedAt };
}

/**
 * What a call by list tells. Access denied is no absence. The archive names what it does not have by the code alone, so
 * a failure without a reason is absence there, and nowhere else.
 */
export function pageOfList(
  { found, failed, unanswered }: SgtinAnswers,
  { body, receivedAt }: RawAnswer,
  phase: 'list' | 'archive',
): FetchedPage<FetchedRow> {
  const moment = receivedAt.toISOString();
  const isArchive = phase === 'archive';
  const absent = failed
    .filter(({ reason }) => reason === 'not_found' || (isArchive && reason === 'not_told'))
    .map(({ sgtin }) => sgtin);
  const denied = failed.filter(({ reason }) => reason === 'access_denied').map(({ sgtin }) => sgtin);
  const settled = new Set([...absent, ...denied]);
  const rows = [
    ...found.map((one) => rowOf(one, isArchive ? 'archived' : 'found', moment)),
    ...denied.map((item): FetchedRow => ({ item, answer: 'denied', moment })),
    ...(isArchive ? absent.map((item): FetchedRow => ({ item, answer: 'not_found', moment })) : []),
  ];
  return {
    rows,
    missing: isArchive ? [] : absent,
    unanswered: [...unanswered, ...failed.map(({ sgtin }) => sgtin).filter((item) => !settled.has(item))],
    ...{ answer: body, fetchedAt: receivedAt },
  };
}

export type DecisionRecord = ListRecord<'suspension_decisions'>;

const SAYS = { 0: 'suspend', 1: 'end' } as const;

/** Decisions that suspend series, and decisions that end that (registry-interface 2.3). */
export function pageOfDecisions(
  records: readonly DecisionRecord[],
  { body, receivedAt }: Pick<RawAnswer, 'body' | 'receivedAt'>,
): FetchedPage<FetchedDecision> {
  const rows = records.map((one): FetchedDecision => {
    const { haltId, haltType = -1, gtin = '', series = '', sgtinCount = 0, decidedAt, haltedAt, enteredAt } = one;
    return {
      ...{ decisionId: haltId, says: SAYS[haltType as keyof typeof SAYS] ?? 'unknown', gtin, series },
      ...defined({ number: one.decisionNumber, date: one.decidedOn, decidedAt, haltedAt, enteredAt }),
      packs: sgtinCount,
    };
  });
  return { rows, missing: [], unanswered: [], answer: body, fetchedAt: receivedAt };
}
