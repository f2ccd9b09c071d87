import { defined } from '#kernel';
import type { FetchedDecision, FetchedPage, FetchedRow } from '#reconciliation';
import type {
  FullHierarchy,
  HierarchyNode,
  ListRecord,
  RawAnswer,
  ReadOutcome,
  SgtinAnswers,
  SgtinRecord,
} from '#registry-client';
import { contentIn } from '../container/content-in.js';
import { registryDay } from '../registry-day.js';

/** As schemas have it (series_number_type): without blanks around it, which would make another series of it. */
const seriesOf = (written = ''): string | undefined => written.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '') || undefined;

function rowOf(record: SgtinRecord, answer: 'found' | 'archived', moment: string): FetchedRow {
  const { sgtin, status, place, sscc, series, expiresOn, funding, inn, movedAt, statusAt } = record;
  return {
    item: sgtin,
    answer,
    ...defined({ status, place, container: sscc, series: seriesOf(series), expiry: registryDay(expiresOn) }),
    ...defined({ moved_at: movedAt ?? statusAt, funding, owner: inn }),
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

const FORBIDDEN = 403;
const BAD_REQUEST = 400;
const NOT_FOUND = 404;
const isPack = (item: string): boolean => item.length === 27;

/**
 * What an answer tells of a container: whether it is there, what it stands in, and the containers in it. The packs in
 * it are named, to be asked for. Undefined: it tells nothing of this container, and another call may.
 */
export function pageOfContainer(
  sscc: string,
  outcome: ReadOutcome<FullHierarchy>,
): FetchedPage<FetchedRow> | undefined {
  if (!('raw' in outcome) || outcome.raw === undefined || mayBeOthers(outcome)) return undefined;
  const { body, receivedAt, httpStatus } = outcome.raw;
  const whole = { rows: [], missing: [], unanswered: [], answer: body, fetchedAt: receivedAt };
  const moment = receivedAt.toISOString();
  if (outcome.kind === 'ok') {
    const told = toldOfContainer(sscc, outcome.value, moment);
    return told === undefined ? { ...whole, unanswered: [sscc] } : { ...whole, ...told };
  }
  if (outcome.kind === 'not_found') return { ...whole, rows: [{ item: sscc, answer: 'not_found', moment }] };
  if (outcome.kind === 'access_denied' || httpStatus === FORBIDDEN)
    return { ...whole, rows: [{ item: sscc, answer: 'denied', moment }] };
  return isOfThisOne(outcome, httpStatus) ? { ...whole, unanswered: [sscc] } : undefined;
}

/** A 404 here is not in the words of the registry: neither is the container absent, nor will it be told soon. */
const isOfThisOne = ({ kind }: ReadOutcome<unknown>, httpStatus: number): boolean =>
  httpStatus === BAD_REQUEST || httpStatus === NOT_FOUND || (kind === 'unknown' && isWhole(httpStatus));

function toldOfContainer(
  sscc: string,
  value: FullHierarchy,
  moment: string,
): { rows: FetchedRow[]; missing: string[] } | undefined {
  const content = contentIn(sscc, value);
  if (content === undefined) return undefined;
  const inner = content.items.filter(({ id }) => !isPack(id)).map(({ id, into }) => ({ item: id, container: into }));
  const rows = [{ item: sscc, ...defined({ container: parentIn(sscc, value.up) }) }, ...inner];
  return {
    rows: rows.map((row): FetchedRow => ({ ...row, answer: 'found', moment })),
    missing: content.items.map(({ id }) => id).filter(isPack),
  };
}

/** A server before the registry may have said so, and will not another time. */
const mayBeOthers = (outcome: ReadOutcome<unknown>): boolean =>
  outcome.kind === 'refused' && outcome.mayBeOthers === true && outcome.raw.httpStatus !== NOT_FOUND;

/** A whole answer that is not understood will not be another time. */
const isWhole = (httpStatus: number): boolean => httpStatus >= 200 && httpStatus < 300;

/** The container right around this one; undefined: there is none. */
function parentIn(sscc: string, up: readonly HierarchyNode[]): string | undefined {
  for (const node of up) {
    if (node.containers.some((one) => one.sscc === sscc)) return node.sscc;
    const inner = parentIn(sscc, node.containers);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

export type DecisionRecord = ListRecord<'suspension_decisions'>;

const SAYS = { 0: 'suspend', 1: 'end' } as const;

/** No series has so many packs. What is no number of packs is none that was told: the answer is in the evidence. */
const MOST_PACKS = 1_000_000_000;
const isCount = (count: number | undefined): count is number =>
  count !== undefined && Number.isInteger(count) && count >= 0 && count <= MOST_PACKS;

/** Decisions that suspend series, and decisions that end that (registry-interface 2.3). */
export function pageOfDecisions(
  records: readonly DecisionRecord[],
  { body, receivedAt }: Pick<RawAnswer, 'body' | 'receivedAt'>,
): FetchedPage<FetchedDecision> {
  const rows = records.map((one): FetchedDecision => {
    const { haltId, haltType = -1, gtin = '', sgtinCount, decidedAt, haltedAt, enteredAt } = one;
    const series = seriesOf(one.series) ?? '';
    return {
      ...{ decisionId: haltId, says: SAYS[haltType as keyof typeof SAYS] ?? 'unknown', gtin, series },
      ...defined({ number: one.decisionNumber, date: one.decidedOn, decidedAt, haltedAt, enteredAt }),
      packs: isCount(sgtinCount) ? sgtinCount : 0,
    };
  });
  return { rows, missing: [], unanswered: [], answer: body, fetchedAt: receivedAt };
}
