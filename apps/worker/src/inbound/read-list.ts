import type { InboundSeen, PlannedTask } from '#domain';
import { defined, type Sha256 } from '#kernel';
import { inTransaction } from '#postgres';
import { documentIdsOf } from '#read-models';
import { outcomeWords, type DocumentMetadata, type NewDocuments, type RawAnswer } from '#registry-client';
import type { Task, TaskResult } from '#tasks';
import { keep } from '../registry-tasks/context.js';
import type { InboundContext } from './context.js';
import { plausibleSince } from './plausible-since.js';
import { moveCursor, readListsNow, writeListed, type ListedDocument, type ListName } from './registry-documents.js';
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
    return {
      kind: 'retry',
      delayMs: Math.min(listPollMs, AGAIN_AFTER_MS),
      error: (error as Error).message,
      countsAsAttempt: false,
    };
  }
}

async function readOn(
  context: InboundContext,
  reader: ListPayload & { signal: AbortSignal },
): Promise<'end' | 'more' | 'again'> {
  const { account, list, signal } = reader;
  const { listOverlapMs, listPagesAtOnce } = context.profile.rules;
  const pageSize = context.profile.operations[kindOf(list)].pageSize ?? 100;
  const since = (await context.held.cursor(account, list)) ?? firstSince(context);
  // What was handed out before is known by the table, so the cursor need not carry it.
  const cursor = { since: since.toISOString(), handedOut: {} };
  const reading = await context.lists.documentsSince(account, list, {
    cursor,
    overlapMs: listOverlapMs,
    maxEntries: listPagesAtOnce * pageSize,
    signal,
  });
  const { walk } = reading;
  const isRefused = walk.kind === 'stopped' && walk.outcome.kind === 'refused';
  const problem = problemOf(walk);
  if (problem !== undefined && !signal.aborted)
    context.warn({ account, list, problem }, 'a document list was not read to its end');
  const isAtEnd = isRefused || (walk.kind === 'complete' && !reading.more);
  const begin = plausibleSince(reading, { since: cursor.since, now: context.clock.now() });
  if (begin !== reading.cursor.since)
    context.warn(
      { account, list, dated: reading.cursor.since },
      'a listed document is dated far ahead, which does not move the reading on',
    );
  await keepListed(context, reading, {
    account,
    list,
    from: cursor.since,
    since: begin,
    isAtEnd,
    ...defined({ problem }),
  });
  return isAtEnd ? 'end' : walk.kind === 'complete' ? 'more' : 'again';
}

/** Where a list is read from that never was: as far back as its profile says, or as the backup needs. */
const firstSince = ({ restored, clock, profile }: InboundContext): Date =>
  new Date((restored?.takenAt ?? clock.now()).getTime() - profile.rules.listReachMs);

function problemOf(walk: NewDocuments['walk']): string | undefined {
  if (walk.kind === 'complete') return undefined;
  if (walk.kind === 'unsettled') return walk.reason;
  return outcomeWords(walk.outcome);
}

async function keepListed(
  context: InboundContext,
  reading: NewDocuments,
  at: Parameters<typeof moveCursor>[1],
): Promise<void> {
  const listed = reading.documents.flatMap((document) => rowOf(context, document, at));
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
  at: { account: string; list: ListName },
): ListedDocument[] {
  const row = listedAs(document, at);
  if (row !== undefined) return [row];
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
