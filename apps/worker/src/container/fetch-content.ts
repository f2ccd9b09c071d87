import { problemOfContent, writeToldContent, type ToldContent, type WithheldReason } from '#domain';
import { backoffMs, defined } from '#kernel';
import type { FullHierarchy, RawAnswer, ReadOutcome } from '#registry-client';
import type { TaskResult } from '#tasks';
import { Candidate } from '../aggregate/candidate.js';
import type { TaskOf } from '../lane.js';
import { candidateOf, registryCause } from '../registry-tasks/context.js';
import type { ContainerContext } from './context.js';
import { contentIn } from './content-in.js';

type ContentTask = TaskOf<'container_content'>;

const FORBIDDEN = 403;
const OPERATION = 'sscc_full_hierarchy';
/** Answers that tell no content, before it is given up: the waits double from `listPollMs` on, 34 hours in all. */
export const CONTENT_TRIES = 12;
const LONGEST_WAIT_MS = 24 * 3_600_000;

/**
 * Asks the registry what lies in a container, once more or for the first time. Whoever comes again after a crash finds
 * the question answered in the log, and calls nobody.
 */
export async function fetchContent(context: ContainerContext, task: ContentTask): Promise<TaskResult> {
  const { sscc, account, documentId } = task.payload;
  const state = await context.containers.repository.stateInLog(sscc);
  if (state.phase !== 'asked' || state.arrival.documentId !== documentId) return { kind: 'done' };
  const outcome = await context.containers.registry.fullHierarchy(account, sscc);
  switch (outcome.kind) {
    case 'ok':
      return told(context, task, outcome);
    case 'not_found':
    case 'access_denied':
      return withheld(context, task, { reason: outcome.kind, raw: outcome.raw });
    case 'refused': {
      const reason = outcome.raw.httpStatus === FORBIDDEN ? 'access_denied' : 'refused';
      return withheld(context, task, { reason, raw: outcome.raw });
    }
    case 'unknown':
      return withheld(context, task, whyUnknown(outcome));
    case 'rate_limited':
    case 'not_sent': {
      const delayMs = context.profile.rules.receiptPollMs;
      return { kind: 'retry', delayMs, error: `content of ${sscc}: ${outcome.kind}`, countsAsAttempt: false };
    }
    default:
      throw new Error(`unknown outcome ${String(outcome satisfies never)}`);
  }
}

/** The content is read here, by the profile of now, and kept beside the answer: a rebuild needs no profile. */
async function told(
  context: ContainerContext,
  task: ContentTask,
  { value, raw }: Extract<ReadOutcome<FullHierarchy>, { kind: 'ok' }>,
): Promise<TaskResult> {
  const { sscc, documentId } = task.payload;
  const content = contentIn(sscc, value);
  const problem = content === undefined ? { reason: 'not_understood' as const } : problemOfContent(content);
  if (content === undefined || problem !== undefined)
    return withheld(context, task, { reason: problem?.reason ?? 'not_understood', raw });
  const answer = candidateOf(context, raw);
  const read = new Candidate(context.evidence, writeToldContent(content), 'application/json');
  const { events } = await context.containers.repository.execute(
    sscc,
    {
      ...{ type: 'RecordContent', sscc, documentId, operation: OPERATION, fetchedAt: raw.receivedAt.toISOString() },
      ...{ answerSha256: answer.sha256, contentSha256: read.sha256, ...countsOf(content) },
    },
    { ...registryCause(context, task), candidates: [answer, read] },
  );
  if (events.length > 0) context.containers.counts.add('told');
  return { kind: 'done' };
}

function countsOf({ items }: ToldContent): { packs: number; containers: number } {
  const containers = items.filter(({ id }) => id.length === SSCC_LENGTH).length;
  return { packs: items.length - containers, containers };
}
const SSCC_LENGTH = 18;

/** A whole answer that we do not understand is none; nor is a registry that does not answer. */
function whyUnknown({ raw }: { raw?: RawAnswer }): { reason: WithheldReason; raw?: RawAnswer } {
  const isAnswer = raw !== undefined && raw.httpStatus >= 200 && raw.httpStatus < 300;
  return isAnswer ? { reason: 'not_understood', raw } : { reason: 'no_answer' };
}

/** Says so when the reason is new, and asks again; after the last try the content stays unknown. */
async function withheld(
  context: ContainerContext,
  task: ContentTask,
  { reason, raw }: { reason: WithheldReason; raw?: RawAnswer },
): Promise<TaskResult> {
  const { sscc, documentId } = task.payload;
  const { attempts } = task;
  const isLast = attempts >= CONTENT_TRIES;
  const answer = raw && candidateOf(context, raw);
  const said = { sscc, documentId, reason, attempts, ...defined({ answerSha256: answer?.sha256 }) };
  const { events } = await context.containers.repository.execute(
    sscc,
    { type: isLast ? 'GiveUpContent' : 'NoteWithheld', ...said },
    { ...registryCause(context, task), candidates: answer === undefined ? [] : [answer] },
  );
  context.containers.counts.add('withheld');
  if (isLast && events.length > 0) context.containers.counts.add('given_up');
  if (isLast) return { kind: 'done' };
  const delayMs = backoffMs(attempts, { firstMs: context.profile.rules.listPollMs, mostMs: LONGEST_WAIT_MS });
  return { kind: 'retry', delayMs, error: `content of ${sscc}: ${reason}` };
}
