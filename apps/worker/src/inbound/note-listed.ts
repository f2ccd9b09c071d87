import type { DocumentState, InboundSeen } from '#domain';
import type { TaskResult } from '#tasks';
import type { TaskOf } from '../lane.js';
import { registryCause } from '../registry-tasks/context.js';
import { toInbound, type InboundContext } from './context.js';
import { followOthers, knownIdOf } from './follow-others.js';
import { seenOf } from './seen.js';

/**
 * Looks at a listed document that may concern us (principles 6.10). What came in, and what went out and is not ours, is
 * followed from here on. A second document with a request_id of ours is an alarm (principles 2.2), and is followed too.
 */
export async function noteListed(context: InboundContext, task: TaskOf<'note_listed'>): Promise<TaskResult> {
  const { seen } = task.payload;
  const { direction, requestId } = seen;
  if (direction === 'outgoing' && requestId !== undefined) {
    const state = await context.documents.stateInLog(requestId);
    if (isOurs(state)) return noteAnother(context, task, { state, seen: { ...seen, requestId } });
  }
  await toInbound(context, task, { type: 'See', seen });
  return { kind: 'done' };
}

/**
 * Ours, and not over without the registry having it, as far as we know: then somebody else has sent it, and what it did
 * is to be known.
 */
function isOurs(state: DocumentState): boolean {
  if (state.phase === 'absent' || state.phase === 'refused') return false;
  return state.phase !== 'concluded' || state.documentId !== undefined;
}

/** All that the lists have shown under the request_id, against the one document that we know of. */
async function noteAnother(
  context: InboundContext,
  task: TaskOf<'note_listed'>,
  { state: before, seen }: { state: DocumentState; seen: InboundSeen['data'] & { requestId: string } },
): Promise<TaskResult> {
  const { requestId, answerSha256 } = seen;
  const listed = await context.held.listedUnder(requestId);
  const documentIds = listed.map((one) => one.documentId);
  if (knownIdOf(before) === undefined) return documentIds.length < 2 ? { kind: 'done' } : lookAgain(context);
  // It answers no attempt, so it can raise the alarm and do nothing else.
  const command = {
    type: 'RecordLookUp',
    attempt: 0,
    documentIds,
    sinceAttemptEndedMs: 0,
    unknownGraceMs: 0,
    answerSha256,
  } as const;
  const { state } = await context.documents.execute(requestId, command, registryCause(context, task));
  const shown = listed.map((row) =>
    row.documentId === seen.documentId ? seen : seenOf(context.profile, { row, answerSha256 }),
  );
  await followOthers(context, task, { requestId, state, shown });
  return { kind: 'done' };
}

/** An answer or a look-up will say which of them is ours. */
const lookAgain = ({ profile }: InboundContext): TaskResult => ({
  kind: 'retry',
  delayMs: profile.rules.listPollMs,
  error: 'which document of several under one request_id is ours is not known yet',
  countsAsAttempt: false,
});
