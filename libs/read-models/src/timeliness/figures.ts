import {
  dueOf,
  startsDueBy,
  type Deadline,
  type DeadlineCalendar,
  type DeadlineChannel,
  type DeadlineRole,
  type DueUnknown,
} from '#domain';
import type { Queryable } from '#postgres';
import { withClocks } from './clock.js';
import { roleOf } from './duty.js';
import { judge, mayBeLate, type JudgeSources } from './judge.js';
import { DOCUMENT_TIMING, type DocumentTimingRow, type TimingKind } from './row.js';

/** Documents of a type that are not sent, or not answered: due soon, and due already. */
export interface NearDeadlines {
  role: DeadlineRole;
  docType: number;
  near: number;
  breached: number;
}

/** A type that came lately, and of which the calendar does not tell when it is due. */
export interface UnknownDeadline {
  role: DeadlineRole;
  docType: number;
  why: DueUnknown;
}

const DAY_MS = 86_400_000;
/** What was told to us, and was due longer ago, no alarm speaks of any more: the report does. */
const LOOK_BACK_MS = 30 * DAY_MS;
const SEEN_MS = 7 * DAY_MS;
/** Documents told to us that one look compares with our answers. */
const MOST_TOLD = 5_000;

interface Wanted {
  docTypes: number[];
  operationClock: boolean[];
  bySend: boolean[];
  from: Date[];
  /** null: for ever. */
  until: (Date | null)[];
  lateBefore: Date[];
  nearBefore: Date[];
}

/** For each type and row of the calendar, the starts of the clock that are due by now, and by `soon`. */
function wantedOf(calendar: DeadlineCalendar, { now, soon }: { now: Date; soon: Date }): Wanted {
  const wanted: Wanted = {
    ...{ docTypes: [], operationClock: [], bySend: [] },
    ...{ from: [], until: [], lateBefore: [], nearBefore: [] },
  };
  // A document that several rows fit is due by the earliest of them.
  for (const row of calendar.deadlines.filter(isOurs).toSorted((a, b) => a.validFrom - b.validFrom)) {
    const { fromMs, beforeMs, endMs } = startsDueBy(calendar, row, now);
    const near = startsDueBy(calendar, row, soon).beforeMs;
    for (const docType of row.docTypes) {
      wanted.docTypes.push(docType);
      wanted.operationClock.push(row.startsAt === 'operation_date');
      wanted.bySend.push(row.metWhen === 'sent');
      wanted.from.push(new Date(fromMs));
      wanted.until.push(endMs === Infinity ? null : new Date(endMs));
      wanted.lateBefore.push(new Date(beforeMs));
      wanted.nearBefore.push(new Date(near));
    }
  }
  return wanted;
}

const isOurs = ({ role, channel }: Deadline): boolean => role === 'sender' && (channel === 'api' || channel === 'any');

/**
 * Documents of ours in flight that are due soon, or were due: counted by their starts, so that no single one is read.
 * Each is counted once, by the claim and the row by which `dueOf` judges it.
 */
export async function nearToSend(
  db: Queryable,
  calendar: DeadlineCalendar,
  { now, soonMs }: { now: Date; soonMs: number },
): Promise<NearDeadlines[]> {
  const wanted = wantedOf(calendar, { now, soon: new Date(now.getTime() + soonMs) });
  const { rows } = await db.query<{ docType: number; near: number; breached: number }>({
    name: 'timeliness-near',
    text: `${withClocks("kind = 'own' AND outcome IS NULL AND doc_type = ANY ($1::int[])")}
      , judged AS (
        SELECT DISTINCT ON (t.id) w.*, s.at, t.sent_at
        FROM unnest($1::int[], $2::boolean[], $3::boolean[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[],
          $7::timestamptz[]) WITH ORDINALITY
          AS w (doc_type, operation_clock, by_send, from_at, until_at, late_before, near_before, n)
        JOIN document_timing t ON t.kind = 'own' AND t.outcome IS NULL AND t.doc_type = w.doc_type
        JOIN place p ON p.request_id = t.id
        JOIN clock c ON c.request_id = t.id
        CROSS JOIN LATERAL (SELECT CASE WHEN w.operation_clock THEN p.operation_at ELSE c.known_at END AS at) s
        WHERE s.at >= w.from_at AND s.at < coalesce(w.until_at, 'infinity')
        ORDER BY t.id, p.operation_at, w.n
      )
      SELECT doc_type AS "docType", count(*) FILTER (WHERE at >= late_before)::int AS near,
        count(*) FILTER (WHERE at < late_before)::int AS breached
      FROM judged WHERE at < near_before AND NOT (by_send AND sent_at IS NOT NULL)
      GROUP BY doc_type ORDER BY doc_type`,
    values: Object.values(wanted),
  });
  return rows.map((row) => ({ role: 'sender', ...row }));
}

/**
 * Types that must be answered, and for each since when a document is looked at: one that was known before, and whose
 * clock started by then, was due before `since`. Rows by which everything was due before are left out.
 */
function toldSince(calendar: DeadlineCalendar, since: Date): [number[], Date[]] {
  const open = calendar.deadlines.flatMap((row) => {
    const { beforeMs, endMs } = startsDueBy(calendar, row, since);
    const isOver = beforeMs >= endMs;
    return row.role !== 'receiver' || isOver
      ? []
      : row.docTypes.map((docType) => ({ docType, at: new Date(beforeMs) }));
  });
  return [open.map(({ docType }) => docType), open.map(({ at }) => at)];
}

/**
 * $1 types, $2 since when documents of each are looked at, $3 streams that are known to be answered: NOT IN hashes them
 * by any plan, and an anti-join may compare each with each.
 */
export const SELECT_TOLD = `SELECT ${DOCUMENT_TIMING.select({ of: 't' })} FROM document_timing t
  WHERE t.kind = 'incoming'
    AND t.known_at >= (SELECT min(w.known_at) FROM unnest($1::int[], $2::timestamptz[]) AS w (doc_type, known_at)
      WHERE w.doc_type = t.doc_type)
    AND t.known_at >= (SELECT min(known_at) FROM unnest($2::timestamptz[]) AS w (known_at))
    AND t.stream NOT IN (SELECT unnest($3::text[]))
  ORDER BY t.known_at DESC LIMIT ${MOST_TOLD + 1}`;

/** What was told to us, and is not answered: due soon, or due already. `isCut`: there is more than one look takes. */
export async function nearToAnswer(
  sources: JudgeSources & { calendar: DeadlineCalendar },
  { soonMs, answered }: { soonMs: number; answered: Set<string> },
): Promise<{ figures: NearDeadlines[]; isCut: boolean }> {
  const { calendar, now } = sources;
  const since = new Date(now.getTime() - LOOK_BACK_MS);
  const { rows } = await sources.pool.query<DocumentTimingRow>({
    name: 'timeliness-told',
    text: SELECT_TOLD,
    values: [...toldSince(calendar, since), [...answered]],
  });
  const soon = new Date(now.getTime() + soonMs);
  const figures = new Map<number, NearDeadlines>();
  for (const one of await judge(sources, rows.slice(0, MOST_TOLD), false)) {
    const { row, standing } = one;
    if (standing.doneAt !== undefined) answered.add(row.stream);
    const at = standing.due?.at;
    if (at === undefined || at > soon || at <= since || row.docType === null) continue;
    const figure = figures.get(row.docType) ?? { role: 'receiver', docType: row.docType, near: 0, breached: 0 };
    if (standing.state === 'pending') figure.near += 1;
    else if (standing.doneAt === undefined && mayBeLate(one)) figure.breached += 1;
    figures.set(row.docType, figure);
  }
  return { figures: [...figures.values()].toSorted((a, b) => a.docType - b.docType), isCut: rows.length > MOST_TOLD };
}

/** Types of the last seven days of which nobody can tell when they are due: each once, however many documents came. */
export async function unknownDeadlines(
  db: Queryable,
  calendar: DeadlineCalendar | undefined,
  now: Date,
): Promise<UnknownDeadline[]> {
  const { rows } = await db.query<{ kind: TimingKind; docType: number; channel: DeadlineChannel; newest: Date }>({
    name: 'timeliness-types',
    text: `SELECT kind, doc_type AS "docType", channel, max(known_at) AS newest FROM document_timing
      WHERE known_at > $1 AND kind IN ('own', 'adopted', 'incoming') AND doc_type IS NOT NULL
      GROUP BY kind, doc_type, channel ORDER BY kind, doc_type, channel`,
    values: [new Date(now.getTime() - SEEN_MS)],
  });
  const found = new Map<string, UnknownDeadline>();
  for (const { kind, docType, channel, newest } of rows) {
    const role = roleOf(kind);
    // Judged as a document whose clock starts now: whether the calendar speaks of the type at this time.
    const facts = { role, docType, channel, operationAt: newest, knownAt: newest, acceptedAt: newest };
    const due = dueOf(calendar, facts);
    const key = `${role} ${docType}`;
    if (due.kind === 'unknown' && !found.has(key)) found.set(key, { role, docType, why: due.why });
  }
  return [...found.values()];
}
