import { accountStream, documentStream, type DeadlineRole, type DocumentRegistered } from '#domain';
import { type EventStore, type RecordedEvent, typedEvent } from '#event-store';
import type { Queryable } from '#postgres';
import { projectionCheckpoint } from '#subscriptions';
import { wholeStream } from '../document-timeline/whole-stream.js';
import { pageLimit, present } from '../list-page.js';
import type { DutyRow, Timeliness, TimelinessQuery } from '../port.js';
import { delayOf, delaySentence, type Delay } from './cause.js';
import { readPlace, writePlace, type Place } from './cursor.js';
import { roleOf, shownDue } from './duty.js';
import { isLate, judge, mayBeLate, type Judged, type JudgeSources } from './judge.js';
import { DOCUMENT_TIMING, type DocumentTimingRow } from './row.js';

export interface TimelinessSources extends JudgeSources {
  store: Pick<EventStore, 'readStream'>;
}

/** Documents that are looked at for a page of late ones: it may be short then, and is not the last. */
const LOOKED_AT_ONCE = 500;
const MOST_LOOKS = 10;

/**
 * One page of the report, the newest day first. Facts come from the read model, due moments from the calendar in force,
 * causes from the log. @throws PedigreeError `invalid_parameter` that names the parameter.
 */
export async function listTimeliness(sources: TimelinessSources, query: TimelinessQuery): Promise<Timeliness> {
  const { cursor } = query;
  const limit = pageLimit(query.limit);
  const after = cursor === undefined ? undefined : readPlace(cursor);
  const upTo = await readUpTo(sources.pool);
  const { found, next } = await (query.late === true ? lateOnes : anyOnes)(sources, { ...query, after, limit });
  const calendar = present({ calendar: sources.calendar?.named });
  const pin: Pin = { ...calendar, asOf: sources.now.toISOString(), upTo: String(upTo) };
  return {
    ...pin,
    // A file has the rows alone.
    items: (await shownAll(sources, found)).map((row) => ({ ...row, ...pin })),
    ...(next === undefined ? {} : { nextCursor: writePlace(next) }),
  };
}

type Pin = Pick<DutyRow, 'calendar' | 'asOf' | 'upTo'>;
type Duty = Omit<DutyRow, keyof Pin>;

/** What a page shows, and after which place the next one begins; no place on the last page. */
interface Found {
  found: Judged[];
  next?: Place;
}

async function anyOnes(sources: TimelinessSources, query: RowsQuery): Promise<Found> {
  const { rows, next } = await readRows(sources.pool, query);
  return { found: await judge(sources, rows, false), ...present({ next }) };
}

async function lateOnes(sources: TimelinessSources, query: RowsQuery): Promise<Found> {
  const found: Judged[] = [];
  let after = query.after;
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    const { rows, next } = await readRows(sources.pool, { ...query, after, limit: LOOKED_AT_ONCE });
    for (const one of await judge(sources, rows, true)) {
      if (mayBeLate(one)) found.push(one);
      if (found.length === query.limit) return { found, next: one.row };
    }
    if (next === undefined) return { found };
    after = next;
  }
  return { found, ...present({ next: after }) };
}

/** How far both read models have come that the report is made of. */
async function readUpTo(db: Queryable): Promise<bigint> {
  const names = ['timeliness', 'sgtin-history'].map((name) => projectionCheckpoint({ name }));
  const { rows } = await db.query<{ up_to: bigint | null; known: number }>({
    name: 'timeliness-up-to',
    text: 'SELECT min(position) AS up_to, count(*)::int AS known FROM checkpoint WHERE name = ANY ($1::text[])',
    values: [names],
  });
  const [row] = rows;
  return row?.known === names.length ? (row.up_to ?? 0n) : 0n;
}

const KINDS: Record<DeadlineRole | 'any', DocumentTimingRow['kind'][]> = {
  sender: ['own', 'adopted'],
  receiver: ['incoming'],
  any: ['own', 'adopted', 'incoming'],
};

type RowsQuery = Omit<TimelinessQuery, 'cursor' | 'late'> & { after: Place | undefined; limit: number };

async function readRows(db: Queryable, query: RowsQuery): Promise<{ rows: DocumentTimingRow[]; next?: Place }> {
  const { text, values } = selectRows(query);
  const read = (await db.query<DocumentTimingRow>(text, values)).rows;
  const rows = read.slice(0, query.limit);
  return { rows, ...present({ next: read.length > query.limit ? rows.at(-1) : undefined }) };
}

/** The statement of a page, and of one row more, for the report and for the test of its plan. */
export function selectRows(query: RowsQuery): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  const given = (value: unknown): string => `$${values.push(value)}`;
  const { after, operationFrom, operationTo, account, docType } = query;
  const conditions = [
    `kind = ANY (${given(KINDS[query.role ?? 'any'])}::text[])`,
    ...(account === undefined ? [] : [`account = ${given(account)}`]),
    ...(docType === undefined ? [] : [`doc_type = ${given(docType)}`]),
    ...(operationFrom === undefined ? [] : [`day_at >= ${given(operationFrom)}`]),
    ...(operationTo === undefined ? [] : [`day_at < ${given(operationTo)}`]),
    ...(after === undefined
      ? []
      : [`(day_at, first_position) < (${given(after.dayAt)}, ${given(after.firstPosition)})`]),
  ];
  const text = `SELECT ${DOCUMENT_TIMING.select()} FROM document_timing WHERE ${conditions.join(' AND ')}
    ORDER BY day_at DESC, first_position DESC LIMIT ${query.limit + 1}`;
  return { text, values };
}

async function shownAll(sources: TimelinessSources, all: Judged[]): Promise<Duty[]> {
  const accounts = new Map<string, RecordedEvent[]>();
  const ofAccount = async (account: string): Promise<RecordedEvent[]> => {
    const events = accounts.get(account) ?? (await wholeStream(sources.store, accountStream(account)));
    accounts.set(account, events);
    return events;
  };
  const rows: Duty[] = [];
  for (const one of all) rows.push(shown(one, sources, await delayOfDuty(one, sources, ofAccount)));
  return rows;
}

/** Why it is late; undefined for what is not. */
async function delayOfDuty(
  judged: Judged,
  { store }: TimelinessSources,
  ofAccount: (account: string) => Promise<RecordedEvent[]>,
): Promise<Delay | undefined> {
  const { due } = judged.standing;
  if (!isLate(judged) || due === undefined) return undefined;
  const told = delayWithoutLog(judged, due.at);
  if (told !== undefined) return told;
  const events = await wholeStream(store, documentStream(lastAnswer(judged) ?? judged.row.id));
  const [registered] = events;
  if (registered === undefined) return { cause: 'not_known' };
  const { account } = typedEvent<DocumentRegistered>(registered).data;
  const delay = delayOf(events, await ofAccount(account), due.at);
  return judged.row.kind === 'incoming' ? ofAnswer(delay) : delay;
}

/** What needs no look into a document of ours: there is none. */
function delayWithoutLog(judged: Judged, dueAt: Date): Delay | undefined {
  const { row } = judged;
  if (row.kind === 'adopted') return { cause: 'past_this_system' };
  if (row.kind !== 'incoming') return undefined;
  if (row.knownAt >= dueAt) return { cause: 'told_late' };
  return lastAnswer(judged) === undefined ? { cause: 'not_answered' } : undefined;
}

/** The document of ours that ended the answer, or has gone on with it last, as the deadline counts. */
const lastAnswer = ({ standing, answers }: Judged): string | undefined =>
  standing.due?.deadline.metWhen === 'sent' ? answers?.sentBy : answers?.by;

/** In time it was answered in part, or not at all. */
function ofAnswer({ cause, since }: Delay): Delay {
  if (cause === 'told_late') return { cause: 'answered_late' };
  return { cause: cause === 'ended_badly' ? 'not_answered' : cause, ...present({ since }) };
}

function shown(judged: Judged, { calendar }: JudgeSources, delay: Delay | undefined): Duty {
  const { row, standing, answers } = judged;
  const { due, state, why, doneAt, daysLate } = standing;
  const moments = { startedAt: due?.startedAt, doneAt, causeSince: delay?.since };
  const { items, answered: itemsAnswered } = answers ?? {};
  const answeredBy = lastAnswer(judged);
  return {
    ...shownFacts(row),
    state,
    ...(due === undefined ? {} : shownDue(due, calendar)),
    ...present(isoTexts(moments)),
    ...present({ why, metWhen: due?.deadline.metWhen, daysLate, items, itemsAnswered, answeredBy }),
    ...(delay === undefined ? {} : { cause: delay.cause, sentence: delaySentence(delay.cause) }),
  };
}

function shownFacts(row: DocumentTimingRow): Omit<Duty, 'state'> {
  const { kind, id, channel, account, docType, docNum, commandId, reference, outcome, replacedBy } = row;
  const operationDate = row.operationDate === '' ? null : row.operationDate;
  return {
    role: roleOf(kind),
    channel,
    ...(kind === 'own' ? { requestId: id } : { documentId: id }),
    account,
    knownAt: row.knownAt.toISOString(),
    ...present({ commandId, reference, docType, docNum, operationDate, outcome, replacedBy }),
    ...present(isoTexts({ sentAt: row.sentAt, acceptedAt: row.acceptedAt })),
  };
}

const isoTexts = <Name extends string>(
  moments: Record<Name, Date | null | undefined>,
): Record<Name, string | undefined> =>
  Object.fromEntries(
    Object.entries<Date | null | undefined>(moments).map(([name, at]) => [name, at?.toISOString()]),
  ) as Record<Name, string | undefined>;
