import { caseStream, documentStream, groupStream, inboundStream, suspensionStream } from '#domain';
import { documentReading, typeKnowledge } from '#documents';
import type { RecordedEvent } from '#event-store';
import {
  accessEntryOf,
  accountStanding,
  caseDetailOf,
  documentDetailOf,
  documentRow,
  groupDetailOf,
  inboundDetailOf,
  inboundRow,
  needsAccount,
  notificationOf,
  receiptWithErrors,
  suspensionDetailOf,
  type DocumentFacts,
  type SuspensionDetail,
} from '#read-models';

type Errors = DocumentFacts['errors'];

/** An answer as it was given, and what stands beside it in the file. */
export interface Answered {
  /** Of its subject, as its stream is named. */
  id: string;
  /** The last part of its route. */
  asked: string;
  body: Record<string, unknown>;
  readAt: Date;
  /** The events of a stream that the answer was made from. Throws where the file does not have the stream. */
  events: (stream: string) => RecordedEvent[];
  streams: string[];
  /** Undefined where the file does not have the bytes. */
  evidence: (sha256: string) => Buffer | undefined;
}

/** What follows from the events, in the names of our code. */
export interface ReadAgain {
  answer: object;
  /** What of the answer was not read from the events. */
  beside: string[];
}

const CALENDAR = 'when it is due, which follows from the calendar of deadlines';
/** The log positions are those of the engine that keeps the log: no leaf has them. */
const POSITIONS = 'log positions';

/** Counted from the packs that we know of, which documents of many streams tell. */
const AFFECTED = 'how many packs it concerns, by branch';

/** Reads an answer from its events as the read models do; undefined where there is no such answer. */
export const READINGS: Record<string, (answered: Answered) => Promise<ReadAgain | undefined>> = {
  documents: documentFrom,
  groups: groupFrom,
  inbound: inboundFrom,
  suspensions: suspensionFrom,
  'access-log': accessFrom,
  cases: ({ id, events, body, readAt }) => {
    const answer = caseDetailOf(events(caseStream(id)), readAt);
    if (answer === undefined) return Promise.resolve(undefined);
    const overdue = typeof body['overdue'] === 'boolean' ? { overdue: body['overdue'] } : {};
    return Promise.resolve({
      answer: { ...answer, ...overdue },
      beside: [POSITIONS, 'whether it is overdue, which follows from the time'],
    });
  },
};

async function documentFrom(answered: Answered): Promise<ReadAgain | undefined> {
  const { id, body, events, streams } = answered;
  const own = events(documentStream(id));
  const row = documentRow(own);
  if (row === undefined) return undefined;
  const { errors, beside } = errorsOf(answered, row.receiptSha256);
  const known = listIn(body, 'waiting_for').map((one) => one['known'] === true);
  const waitingFor = row.waitingFor.map(({ since: _, ...one }, n) => ({ ...one, known: known[n] ?? false }));
  const told = streams
    .filter((stream) => stream.startsWith(inboundStream('')))
    .flatMap((one) => inboundRow(events(one)) ?? []);
  const notifications = told
    .filter(({ linkedRequestId, phase }) => linkedRequestId === id && phase !== 'ours')
    .sort((a, b) => Number(a.seenPosition - b.seenPosition))
    .map((one) => notificationOf(one, typeKnowledge));
  const account = needsAccount(row) ? await accountStanding(storeOf(events), row.account) : undefined;
  const answer = documentDetailOf(row, own, { waitingFor, errors, notifications, account });
  return {
    answer: { ...answer, ...dueIn(body) },
    beside: [
      ...[POSITIONS, CALENDAR, ...beside, 'that no other document of others tells of it'],
      ...(row.waitingFor.length === 0 ? [] : ['whether the commands that it waits for were received']),
    ],
  };
}

async function groupFrom({ id, events }: Answered): Promise<ReadAgain | undefined> {
  const rowsOf = (requestIds: string[]) =>
    Promise.resolve(
      new Map(
        requestIds.flatMap((requestId) => {
          const row = documentRow(events(documentStream(requestId)));
          return row === undefined ? [] : [[requestId, row]];
        }),
      ),
    );
  const answer = await groupDetailOf(events(groupStream(id)), rowsOf);
  return answer === undefined ? undefined : { answer, beside: [POSITIONS] };
}

function inboundFrom(answered: Answered): Promise<ReadAgain | undefined> {
  const { id, body, events } = answered;
  const own = events(inboundStream(id));
  const row = inboundRow(own);
  if (row === undefined) return Promise.resolve(undefined);
  const { errors, beside } = errorsOf(answered, receiptWithErrors(row));
  const answer = inboundDetailOf(row, own, { errors, types: typeKnowledge });
  return Promise.resolve({ answer: { ...answer, ...dueIn(body) }, beside: [POSITIONS, CALENDAR, ...beside] });
}

async function suspensionFrom({ id, events, body }: Answered): Promise<ReadAgain | undefined> {
  const said = listIn(body, 'affected');
  // An answer of an older version has these packs at each match.
  const unknown = 'series_unknown' in body ? { seriesUnknown: body['series_unknown'] } : {};
  const answer = await suspensionDetailOf(events(suspensionStream(id)), ({ state }) =>
    Promise.resolve({
      affected: state.matches.map((one, n) => ({ ...said[n], ...one })),
      ...unknown,
    } as Pick<SuspensionDetail, 'affected' | 'seriesUnknown'>),
  );
  return answer && { answer, beside: [POSITIONS, AFFECTED] };
}

/** No leaf has a log position: that of the route is taken as it was asked for. */
function accessFrom({ asked, streams, events }: Answered): Promise<ReadAgain | undefined> {
  const [event, another] = events(streams[0] ?? '');
  if (event === undefined || another !== undefined) throw new Error('it follows from one event, and there are others');
  const answer = accessEntryOf({ ...event, position: BigInt(asked) });
  return Promise.resolve(answer && { answer, beside: [POSITIONS] });
}

/** The errors of a receipt, from its bytes where the file has them. */
function errorsOf({ body, evidence }: Answered, receipt: string | null): { errors: Errors; beside: string[] } {
  if (receipt === null) return { errors: [], beside: [] };
  const bytes = evidence(receipt);
  if (bytes === undefined)
    return {
      errors: listIn(body, 'errors') as Errors,
      beside: ['the errors of its receipt, whose bytes are not here'],
    };
  return { errors: documentReading().readReceipt(bytes).errors, beside: [] };
}

/** What the calendar says is taken as it was said. */
function dueIn({ due_at: dueAt, due_by: dueBy }: Record<string, unknown>): object {
  return { ...(dueAt === undefined ? {} : { dueAt }), ...(dueBy === undefined ? {} : { dueBy }) };
}

const storeOf = (events: Answered['events']) => ({
  readStream: (stream: string, { fromVersion = 0 }: { fromVersion?: number } = {}) =>
    Promise.resolve(events(stream).slice(fromVersion)),
});

const listIn = (body: Record<string, unknown>, name: string): Record<string, unknown>[] =>
  Array.isArray(body[name]) ? (body[name] as Record<string, unknown>[]) : [];
