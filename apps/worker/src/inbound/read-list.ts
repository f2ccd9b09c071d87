import type { InboundSeen, PlannedTask } from '#domain';
import { defined, type Sha256 } from '#kernel';
import { inTransaction } from '#postgres';
import { documentIdsOf } from '#read-models';
import { databaseNow } from '#reconciliation';
import { outcomeWords, type DocumentMetadata, type NewDocuments, type RawAnswer } from '#registry-client';
import type { Task, TaskResult } from '#tasks';
import { keep } from '../registry-tasks/context.js';
import type { InboundContext } from './context.js';
import { notUnderstoodAfter, type KeptNotUnderstood } from './not-understood.js';
import { plausibleSince } from './plausible-since.js';
import {
  moveCursor,
  noteUnread,
  readListsNow,
  writeListed,
  type ListedDocument,
  type ListName,
} from './registry-documents.js';
import { listedAs, seenOf } from './seen.js';

type ListTask = PlannedTask<'list_incoming' | 'list_outgoing'>;
type ListPayload = ListTask['payload'];

/** Lists go behind everything that somebody waits for. */
const LIST_PRIORITY = 500;
/**
 * A reading that did not come to its end is tried again after so long, or after the list's own interval where that is
 * shorter.
 */
const AGAIN_AFTER_MS = 5_000;
/** A reading reaches back over so many `listReachMs` at the most, for an entry that was not understood. */
const FARTHEST_REACHES = 7;

const kindOf = <List extends ListName>(list: List): `list_${List}` => `list_${list}`;
const listTaskKey = (account: string, list: ListName): string => `${kindOf(list)}:${account}`;

/** The two tasks of an account that never end: one reader of each list over all processes, because it is one task. */
export const listTasks = (account: string): ListTask[] =>
  (['incoming', 'outgoing'] as const).map((list) => ({
    key: listTaskKey(account, list),
    kind: kindOf(list),
    lane: `${account}/${kindOf(list)}`,
    priority: LIST_PRIORITY,
    dueAt: new Date(0),
    payload: { account, list },
  }));

/**
 * Each account's lists are read at once when a process begins, and then again and again. What an account sends waits
 * for them where they were read before, or where a restored backup may not know of it.
 */
export async function beginReadingLists(
  { held, queue, pool, restored }: Pick<InboundContext, 'held' | 'queue' | 'pool' | 'restored'>,
  accounts: string[],
): Promise<void> {
  await held.open(restored?.takenAt === undefined ? [] : accounts);
  const tasks = accounts.flatMap(listTasks);
  await queue.schedule(pool, tasks);
  await readListsNow(
    pool,
    tasks.map((task) => task.key),
  );
}

/**
 * Reads on in one list from where its cursor stands, keeps what it shows, and has what may concern us looked at: all in
 * one transaction with the cursor. It never fails for good: whatever goes wrong, the list is read again.
 */
export async function readList(
  context: InboundContext,
  task: Task<ListPayload>,
  signal: AbortSignal,
): Promise<TaskResult> {
  const { account, list } = task.payload;
  const { listPollMs } = context.profile.rules;
  try {
    const ended = await readOn(context, { account, list, signal });
    if (ended === 'end') await context.restored?.releaseWhenCompared();
    return {
      kind: 'retry',
      delayMs: ended === 'more' ? 0 : ended === 'end' ? listPollMs : Math.min(listPollMs, AGAIN_AFTER_MS),
      countsAsAttempt: false,
    };
  } catch (error) {
    context.warn({ account, list, error: (error as Error).message }, 'a document list could not be read');
    if (!signal.aborted) await tellUnread(context, task.payload, error as Error);
    return {
      kind: 'retry',
      delayMs: Math.min(listPollMs, AGAIN_AFTER_MS),
      error: (error as Error).message,
      countsAsAttempt: false,
    };
  }
}

/** Whatever keeps the cursor from being written must not keep its list from being told as unread. */
async function tellUnread(context: InboundContext, { account, list }: ListPayload, error: Error): Promise<void> {
  try {
    const problem = `failed: ${error.message}`;
    await noteUnread(context.pool, { account, list, since: firstSince(context), problem });
  } catch (second) {
    context.warn({ account, list, error: (second as Error).message }, 'that a list is unread could not be noted');
  }
}

async function readOn(
  context: InboundContext,
  reader: ListPayload & { signal: AbortSignal },
): Promise<'end' | 'more' | 'again'> {
  const { account, list, signal } = reader;
  const { listOverlapMs, listPagesAtOnce } = context.profile.rules;
  const pageSize = context.profile.operations[kindOf(list)].pageSize ?? 100;
  const startedAt = context.clock.now();
  const place = await beginningOf(context, reader, startedAt);
  const began: Began = { at: new Date(await databaseNow(context.pool)), monotonicMs: context.clock.monotonicMs() };
  // What was handed out before is known by the table, so the cursor need not carry it.
  const cursor = { since: place.since.toISOString(), handedOut: {} };
  const reading = await context.lists.documentsSince(account, list, {
    cursor,
    overlapMs: listOverlapMs,
    maxEntries: listPagesAtOnce * pageSize,
    signal,
  });
  const at = { ...place, account, list, began, from: cursor.since, ...standOf(reading, place, startedAt) };
  if (!signal.aborted) warnOf(context, at, reading);
  await keepListed(context, reading, at);
  return at.isAtEnd ? 'end' : reading.walk.kind === 'complete' && !at.isAhead ? 'more' : 'again';
}

/** One moment by two clocks: by the database's, and by the one that only this process knows. */
interface Began {
  at: Date;
  monotonicMs: number;
}

/** How old an answer of this reading is at the most, by the database's clock: one that comes slowly tells no more. */
const answeredAt = ({ at, monotonicMs }: Began, answer: RawAnswer): { answeredAt: Date } => ({
  answeredAt: new Date(
    at.getTime() + Math.max(0, (answer.askedMonotonicMs ?? answer.receivedMonotonicMs) - monotonicMs),
  ),
});

/** How a list stands after a reading, and what stood in its way, in words. */
interface Stand {
  since: string;
  isAtEnd: boolean;
  isAhead: boolean;
  problem?: string;
  notUnderstood?: KeptNotUnderstood;
}

function standOf(reading: NewDocuments, place: Beginning, startedAt: Date): Stand {
  const { walk } = reading;
  const isRefused = walk.kind === 'stopped' && walk.outcome.kind === 'refused';
  const since = plausibleSince(reading, startedAt);
  // What is left lies ahead of our clock: reading on at once would show the same again.
  const isAhead = reading.more && since !== reading.cursor.since;
  const isWhole = walk.kind === 'complete' && !reading.more;
  const words = wordsOf(reading);
  const notUnderstood = notUnderstoodAfter(place.kept, { ...place, ...defined({ words }), isWhole });
  // While the list may hold what nobody has understood, it does not count as read whole.
  const problem = problemOf(reading, isAhead) ?? notUnderstood?.words;
  return { since, isAtEnd: isRefused || isWhole, isAhead, ...defined({ problem, notUnderstood }) };
}

function warnOf(
  { warn, profile }: InboundContext,
  { account, list, problem, since }: Stand & ListPayload,
  { cursor: { since: dated } }: NewDocuments,
): void {
  if (problem !== undefined)
    warn({ account, list, problem }, 'a document list was not read to its end, or not all of it');
  if (Date.parse(dated) > Date.parse(since) + profile.rules.listOverlapMs)
    warn({ account, list, dated }, 'a listed document is dated ahead, which does not move the reading on');
}

/** Where a reading begins, and what is to be read again. */
interface Beginning {
  since: Date;
  /** Nothing is read again that is older than this. */
  farthest: Date;
  /** Set where it reaches back. */
  lookedBackAt?: Date;
  /** What readings before showed, and nobody understood. */
  kept?: KeptNotUnderstood;
}

/**
 * Where a reading begins. Twice in `listReachMs` it reaches back so far, and to an entry that was not understood: a
 * registry that was busy may show a document later than the overlap allows, and nothing else would ever tell of it.
 */
async function beginningOf(
  context: InboundContext,
  { account, list }: ListPayload,
  startedAt: Date,
): Promise<Beginning> {
  const { listReachMs, listOverlapMs } = context.profile.rules;
  const nowMs = startedAt.getTime();
  // While a restored database holds back, an entry of ours may be what it would send again: it is not given up.
  const isHolding = list === 'outgoing' && (await context.restored?.isHolding()) === true;
  const farthest = new Date(isHolding ? 0 : nowMs - FARTHEST_REACHES * listReachMs);
  const known = await context.held.cursor(account, list);
  if (known === undefined) return { since: firstSince(context), farthest, lookedBackAt: startedAt };
  const agoMs = nowMs - (known.lookedBackAt?.getTime() ?? -Infinity);
  // A clock of ours that was ahead may have left that moment ahead, and the cursor.
  const isDue = agoMs >= listReachMs / 2 || agoMs < -listOverlapMs;
  const { notUnderstood: kept } = known;
  if (!isDue) return { since: earliest(known.since, startedAt), farthest, ...defined({ kept }) };
  const strangeFrom = kept?.from ?? startedAt;
  const back = earliest(new Date(nowMs - listReachMs), strangeFrom < farthest ? farthest : strangeFrom);
  return { since: earliest(known.since, back), farthest, lookedBackAt: startedAt, ...defined({ kept }) };
}

const earliest = (a: Date, b: Date): Date => (a < b ? a : b);

/** Where a list is read from that never was: as far back as its profile says, or as the backup needs. */
const firstSince = ({ restored, clock, profile }: InboundContext): Date =>
  new Date((restored?.takenAt ?? clock.now()).getTime() - profile.rules.listReachMs);

/** Why not all was read that the list has; `isAhead`: the rest of it is dated ahead of our clock. */
function problemOf(reading: NewDocuments, isAhead: boolean): string | undefined {
  const { walk } = reading;
  if (walk.kind === 'unsettled') return walk.reason;
  if (walk.kind === 'stopped') return outcomeWords(walk.outcome);
  return wordsOf(reading) ?? (isAhead ? 'more entries are dated ahead of our clock than one reading takes' : undefined);
}

/** The entries of a reading that are not understood, in words; undefined where there is none. */
function wordsOf({ notUnderstood: [first, ...others] = [] }: NewDocuments): string | undefined {
  if (first === undefined) return undefined;
  return `${others.length + 1} entries are not understood, the first: ${first.problem}: ${first.written}`;
}

async function keepListed(
  context: InboundContext,
  reading: NewDocuments,
  at: Parameters<typeof moveCursor>[1] & { began: Began },
): Promise<void> {
  const listed = reading.documents.flatMap((document) => rowOf(context, document, { ...at, reading }));
  const unseen = await context.held.newAmong(listed.map((one) => one.documentId));
  const suspects = await suspectsAmong(
    context,
    listed.filter((one) => unseen.has(one.documentId)),
  );
  const digests = await keepAnswers(
    context,
    suspects.map((one) => reading.answers.get(one.documentId)),
  );
  const byId = new Map(reading.documents.map((one) => [one.documentId, one]));
  const tasks = suspects.map((one) => {
    const document = byId.get(one.documentId) as DocumentMetadata;
    return noteListedTask(
      seenOf(context.profile, {
        document,
        row: one,
        answerSha256: digests.get(reading.answers.get(one.documentId) as RawAnswer) as Sha256,
      }),
    );
  });
  await inTransaction(
    context.pool,
    async (tx) => {
      await writeListed(tx, listed);
      if (tasks.length > 0) await context.queue.schedule(tx, tasks);
      await moveCursor(tx, at);
    },
    { name: 'a page of a document list' },
  );
}

/** A list page that nothing follows from is no evidence; of the others each is kept once. */
async function keepAnswers(
  context: InboundContext,
  answers: (RawAnswer | undefined)[],
): Promise<Map<RawAnswer, Sha256>> {
  const digests = new Map<RawAnswer, Sha256>();
  for (const answer of answers)
    if (answer !== undefined && !digests.has(answer)) digests.set(answer, await keep(context, answer));
  return digests;
}

/** The row of a listed document; none, and a warning, where its id could name nothing here. */
function rowOf(
  context: InboundContext,
  document: DocumentMetadata,
  at: { account: string; list: ListName; began: Began; reading: NewDocuments },
): ListedDocument[] {
  const row = listedAs(document, at);
  const answer = at.reading.answers.get(document.documentId);
  if (row !== undefined) return [{ ...row, ...(answer === undefined ? {} : answeredAt(at.began, answer)) }];
  const { account, list } = at;
  context.warn(
    { account, list, length: document.documentId.length },
    'a listed document has an id that is too long, and is left alone',
  );
  return [];
}

/**
 * What may concern somebody: all that came in; of what went out, what is not known as ours, and what is ours and
 * another document than the one we know of. The read model may be behind: whoever looks at a suspect asks the log.
 */
async function suspectsAmong(context: InboundContext, unseen: ListedDocument[]): Promise<ListedDocument[]> {
  const requestIds = [
    ...new Set(unseen.flatMap((one) => (one.direction === 'outgoing' && one.requestId !== '' ? [one.requestId] : []))),
  ];
  if (requestIds.length === 0) return unseen;
  const [ours, held] = await Promise.all([
    documentIdsOf(context.pool, requestIds),
    context.held.outgoingUnder(requestIds),
  ]);
  const timesListed = new Map<string, number>();
  for (const { requestId } of unseen) timesListed.set(requestId, (timesListed.get(requestId) ?? 0) + 1);
  return unseen.filter(({ direction, documentId, requestId }) => {
    if (direction === 'incoming' || !ours.has(requestId)) return true;
    const known = ours.get(requestId);
    return (
      (known !== undefined && known !== documentId) || held.has(requestId) || (timesListed.get(requestId) ?? 0) > 1
    );
  });
}

function noteListedTask(seen: InboundSeen['data']): PlannedTask<'note_listed'> {
  const { documentId, account, direction } = seen;
  return {
    key: `note_listed:${documentId}`,
    kind: 'note_listed',
    lane: 'internal',
    dueAt: new Date(0),
    payload: { documentId, account, direction, seen },
  };
}
