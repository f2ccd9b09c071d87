import { decideAttempt, evolveAttempt, FIRST_ATTEMPT, mayBeOthers, TWO_PAST_GRACE } from '#domain';
import type { Attempt, AttemptCommand, AttemptPolicy, CallAnswer } from '#domain';
import type { JsonObject, Sha256 } from '#kernel';
import type { ExportPhase } from './fetch.js';

/** How far an export is. It lies in the row of its fetch, and each step of it is one statement there. */
export interface ExportOrder {
  /** Ordering is a call that must not be made twice: a user has room for few tasks. */
  attempt: Attempt;
  /** Tasks that the user had before. */
  known: string[];
  /** When the last attempt was begun, by the clock of the database; its rows are no newer than that. */
  begunAt: string | null;
  /** When it was found that its outcome is not known. */
  endedAt: string | null;
  taskId: string | null;
  resultId: string | null;
  /** Of several results, which none is read of: those to be removed after this one. Absent: none. */
  others?: string[];
  /** How often in a row a thing was not there, or a file useless; other failures between them count elsewhere. */
  faults?: Partial<Record<ExportFault, number>>;
  /** How often its state was asked for. */
  looks: number;
  /** Orders in a row that did not reach the registry. */
  undelivered: number;
  /** The registry could not make it, in its words: what is left is to remove it. */
  failure: string | null;
  /** Number of the first piece of the file that was downloaded last; those before it are of earlier downloads. */
  firstPiece: number;
  file: ExportFile | null;
}

/** `absent`: something is not there which ought to be. `useless`: a file is damaged, too large or empty. */
export type ExportFault = 'absent' | 'useless';

/** The file that was downloaded, and how it is read. */
interface ExportFile {
  bytes: number;
  sha256: Sha256;
  csvBytes: number;
  mapping: JsonObject;
  /** Its rows are at least of this moment. */
  moment: string;
}

export const NEW_ORDER: ExportOrder = {
  ...{ attempt: FIRST_ATTEMPT, known: [], begunAt: null, endedAt: null, taskId: null, resultId: null },
  ...{ looks: 0, undelivered: 0, failure: null, firstPiece: 0, file: null },
};

/** Orders in a row that may not reach the registry. */
export const MOST_UNDELIVERED = 50;
/** Orders of a fetch that may be lost without a trace. */
export const MOST_DOUBTS = 5;

/**
 * From the beginning. Calls are numbered on, so that a late answer to an earlier call is none to a later one. So are
 * pieces, for some of a file may lie there.
 */
export const anew = ({ attempt: { attempt }, firstPiece }: ExportOrder): ExportOrder => ({
  ...{ ...NEW_ORDER, firstPiece },
  attempt: { ...FIRST_ATTEMPT, attempt: attempt + 1 },
});

/** Where an export goes on, or why it ends. */
export interface ExportStep {
  order: ExportOrder;
  phase: ExportPhase;
  problem?: string;
}

/**
 * A refusal is believed in the registry's words, and unless an earlier call may have landed; nothing but look-ups
 * proves a call undone.
 */
const POLICY: AttemptPolicy = {
  believes: (refusal, { doubts }) => doubts === 0 && !mayBeOthers(refusal),
  proof: TWO_PAST_GRACE,
  proofAfterRefusal: TWO_PAST_GRACE,
};

/** The intent. Undefined: an earlier process has begun, and nobody knows whether it made the call. */
export function beginOrder(order: ExportOrder, at: string): ExportOrder | undefined {
  if (order.attempt.step !== 'open') return undefined;
  const { attempt } = order.attempt;
  return {
    ...order,
    attempt: evolveAttempt(order.attempt, { type: 'begun', data: { attempt } }),
    begunAt: at,
    endedAt: null,
  };
}

/** What the call said, or that nobody heard what it said. Undefined: it says nothing of the call that is made now. */
export function answerOrder(
  order: ExportOrder,
  { attempt, answer, at }: { attempt: number; answer: CallAnswer | Ordered; at: string },
): ExportStep | undefined {
  const { step, attempt: newest } = order.attempt;
  if (attempt !== newest || step === 'open') return undefined;
  if (answer.kind === 'done') return { order: { ...order, taskId: answer.taskId }, phase: 'export_wait' };
  if (step !== 'calling') return undefined;
  const next = decided(order, { type: 'RecordAnswer', attempt, answer });
  if (next.problem !== undefined) return { ...next, phase: 'export_seek' };
  const undelivered = answer.kind === 'not_delivered' ? order.undelivered + 1 : 0;
  if (answer.kind === 'not_delivered' && undelivered >= MOST_UNDELIVERED)
    return ended(order, `the export was not ordered, ${undelivered} times: ${answer.reason}`);
  const isDoubtful = next.order.attempt.step === 'doubtful';
  return {
    order: { ...next.order, undelivered, endedAt: isDoubtful ? at : null },
    phase: isDoubtful ? 'export_seek' : 'export_order',
  };
}

/** Only the answer to the order itself tells which task is ours. */
export interface Ordered {
  kind: 'done';
  taskId: string;
}

export interface Sought {
  /** All tasks of the user, in whatever state. */
  tasks: readonly string[];
  answerSha256: Sha256;
  at: string;
  unknownGraceMs: number;
}

/**
 * A search: before an order it tells which tasks there are. Behind a doubtful one it may prove that there is no other.
 * A task that is new is never taken for ours, nor removed: the list tells neither by whom nor from what it was ordered.
 */
export function searchedFor(order: ExportOrder, sought: Sought): ExportStep {
  const { attempt, known, endedAt } = order;
  if (attempt.step === 'open') return { order: { ...order, known: [...sought.tasks] }, phase: 'export_order' };
  const strangers = sought.tasks.filter((id) => !known.includes(id));
  if (strangers.length > 0)
    return ended(
      order,
      `the answer to the order of an export was lost, and there is a new export ${strangers.join(', ')}. Whether it ` +
        'is ours cannot be proven, so it is neither read nor removed: remove it if nobody needs it. To go on is to ' +
        'order another',
    );
  const { answerSha256, unknownGraceMs } = sought;
  const sinceAttemptEndedMs = Date.parse(sought.at) - Date.parse(endedAt ?? sought.at);
  const facts = { sinceAttemptEndedMs, unknownGraceMs, answerSha256, isDone: false };
  const next = decided(order, { type: 'RecordLookUp', attempt: attempt.attempt, ...facts });
  if (next.order.attempt.doubts >= MOST_DOUBTS)
    return ended(order, `${MOST_DOUBTS} orders of an export were lost, and none has arrived`);
  return { ...next, phase: next.order.attempt.step === 'open' ? 'export_order' : 'export_seek' };
}

/** Who goes on begins anew. */
const ended = (order: ExportOrder, problem: string): ExportStep => ({
  ...{ order: anew(order), phase: 'export_seek', problem },
});

function decided(order: ExportOrder, command: AttemptCommand): { order: ExportOrder; problem?: string } {
  const fact = decideAttempt(order.attempt, command, POLICY);
  if (fact === undefined || fact.type === 'done') return { order };
  if (fact.type === 'refused')
    return { order: anew(order), problem: `the export was refused: ${fact.data.code} ${fact.data.text}` };
  return { order: { ...order, attempt: evolveAttempt(order.attempt, fact) } };
}
