import { backoffMs } from '#kernel';
import { outcomeWords, saysNo, type CallOutcome } from '#registry-client';
import type { Task, TaskResult } from '#tasks';
import type { TaskContext } from './context.js';

type AccountTask = Pick<Task<{ account: string }>, 'payload' | 'attempts'>;

/** So often a read may be refused before it is put aside: with the waits below that is about four and a half hours. */
export const REFUSED_TRIES = 14;
const LONGEST_WAIT_MS = 3_600_000;
const LONGEST_REASON = 500;
const PAUSED_WAIT_MS = 60_000;

/**
 * After a read of a receipt or of a document's copy that gave none. A registry that says no, or gives what is of no
 * use, is asked less and less often, and then no more until a person says so. A registry that is away, or that limits
 * us, has said nothing of the document: that does not count.
 */
export function readAgain(
  context: TaskContext,
  task: AccountTask,
  { what, outcome }: { what: string; outcome: Exclude<CallOutcome<unknown>, { kind: 'ok' }> },
): TaskResult {
  const reason = outcomeWords(outcome).slice(0, LONGEST_REASON);
  if (saysNo(outcome)) return refusedRead(context, task, `${what}: ${reason}`);
  return {
    kind: 'retry',
    delayMs: context.profile.rules.receiptPollMs,
    error: `${what}: ${reason}`,
    countsAsAttempt: false,
  };
}

/** What is refused while its account is paused says nothing of the document; undefined where the account is not. */
export function whilePaused(
  { gates }: Pick<TaskContext, 'gates'>,
  { payload }: AccountTask,
  error: string,
): TaskResult | undefined {
  const isPaused = gates.pausedAccounts().some(({ account }) => account === payload.account);
  return isPaused
    ? { kind: 'retry', delayMs: PAUSED_WAIT_MS, error: `the account is paused: ${error}`, countsAsAttempt: false }
    : undefined;
}

/** A failed task is shown by `pedigree tasks`, raises an alert and can be retried; its document stays as it is. */
export function refusedRead(context: TaskContext, task: AccountTask, error: string): TaskResult {
  const waits = whilePaused(context, task, error);
  if (waits !== undefined) return waits;
  if (task.attempts >= REFUSED_TRIES)
    return { kind: 'failed', error: `given up after ${task.attempts} answers: ${error}` };
  const delayMs = backoffMs(task.attempts, { firstMs: context.profile.rules.receiptPollMs, mostMs: LONGEST_WAIT_MS });
  return { kind: 'retry', delayMs, error, countsAsAttempt: true };
}
