import { defined, type Sha256 } from '#kernel';
import { accountFaultOf, type AccountFault, type CallOutcome, type JudgedOperation } from '#registry-client';
import type { Claim } from '../lane.js';
import { keep, type TaskContext } from '../registry-tasks/context.js';

/** One answer of the registry to one account. */
interface Answered {
  account: string;
  operation: JudgedOperation;
  outcome: CallOutcome<unknown>;
  /** What a server before the registry may have said would be the last word now. */
  believesOthers: boolean;
  /** The document that was sent. */
  requestId?: string;
}

/**
 * Where the registry refused the account and not what was asked, the account is paused, durably, and the fault is told.
 * Undefined for any other outcome, and where a person has resumed the account after the same answer to the same
 * document: then the answer is the document's.
 */
export async function judgeRefusal(
  context: TaskContext,
  task: Claim,
  { account, operation, outcome, believesOthers, requestId }: Answered,
): Promise<(AccountFault & { answerSha256: Sha256 }) | undefined> {
  if (outcome.kind !== 'refused' && outcome.kind !== 'not_found') return undefined;
  const { raw, text } = outcome;
  const code = outcome.kind === 'refused' ? outcome.code : 'not_found';
  const mayBeOthers = outcome.kind === 'refused' && outcome.mayBeOthers === true && !believesOthers;
  const refusal = { httpStatus: raw.httpStatus, code, text, mayBeOthers };
  const fault = accountFaultOf(context.profile.accountRefusals, operation, refusal);
  if (fault === undefined) return undefined;
  const answerSha256 = await keep(context, raw);
  const isPaused = await context.gates.pause(account, fault, {
    taskKey: task.key,
    answerSha256,
    ...defined({ requestId }),
  });
  return isPaused ? { ...fault, answerSha256 } : undefined;
}
