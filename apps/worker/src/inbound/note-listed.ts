import type { DocumentState } from '#domain';
import type { TaskResult } from '#tasks';
import type { Claim, TaskOf } from '../lane.js';
import { registryCause } from '../registry-tasks/context.js';
import { toInbound, type InboundContext } from './context.js';

/**
 * Looks at a listed document that may concern us (principles 6.10). What came in, and what went out and is not ours, is
 * followed from here on. A second document with a request_id of ours is an alarm (principles 2.2).
 */
export async function noteListed(context: InboundContext, task: TaskOf<'note_listed'>): Promise<TaskResult> {
  const { seen } = task.payload;
  if (
    seen.direction === 'outgoing' &&
    seen.requestId !== undefined &&
    isOurs(await context.documents.stateInLog(seen.requestId))
  ) {
    await noteAnother(context, task, { requestId: seen.requestId, answerSha256: seen.answerSha256 });
    return { kind: 'done' };
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
  task: Claim,
  of: { requestId: string; answerSha256: string },
): Promise<void> {
  const { requestId, answerSha256 } = of;
  const documentIds = (await context.held.outgoingUnder([requestId])).get(requestId) ?? [];
  // It answers no attempt, so it can raise the alarm and do nothing else.
  const command = {
    type: 'RecordLookUp',
    attempt: 0,
    documentIds,
    sinceAttemptEndedMs: 0,
    unknownGraceMs: 0,
    answerSha256,
  } as const;
  await context.documents.execute(requestId, command, registryCause(context, task));
}
