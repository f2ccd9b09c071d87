import { decideAttempt, evolveAttempt, FIRST_ATTEMPT, TWO_PAST_GRACE, type Attempt, type CallAnswer } from '#domain';
import type { AttemptCommand, AttemptPolicy } from '#domain';
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
  /** How often its state was asked for. */
  looks: number;
  /** The registry could not make it, in its words: what is left is to remove it. */
  failure: string | null;
  file: ExportFile | null;
}

/** The file that was downloaded, and how it is read. */
export interface ExportFile {
  bytes: number;
  sha256: Sha256;
  csvBytes: number;
  mapping: JsonObject;
  /** Its rows are at least of this moment. */
  moment: string;
}

export const NEW_ORDER: ExportOrder = {
  ...{ attempt: FIRST_ATTEMPT, known: [], begunAt: null, endedAt: null, taskId: null, resultId: null },
  ...{ looks: 0, failure: null, file: null },
};

/** Where an export goes on, or why it ends. */
export interface ExportStep {
  order: ExportOrder;
  phase: ExportPhase;
  problem?: string;
}

/** A refusal is believed unless an earlier call may have landed; nothing but look-ups proves a call undone. */
const POLICY: AttemptPolicy = {
  believes: (_, { doubts }) => doubts === 0,
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

/** What the call said, or that nobody heard what it said. */
export function answerOrder(
  order: ExportOrder,
  { attempt, answer, at }: { attempt: number; answer: CallAnswer | Ordered; at: string },
): ExportStep {
  const told = answer.kind === 'done' ? { kind: 'done' as const, answerSha256: answer.answerSha256 } : answer;
  const next = decided(order, { type: 'RecordAnswer', attempt, answer: told });
  if (answer.kind === 'done' && order.taskId === null)
    return { order: { ...next.order, taskId: answer.taskId }, phase: 'export_wait' };
  const { step } = next.order.attempt;
  const endedAt = step === 'doubtful' ? (order.endedAt ?? at) : null;
  return {
    ...next,
    order: { ...next.order, endedAt },
    phase: step === 'doubtful' || next.problem !== undefined ? 'export_seek' : 'export_order',
  };
}

export interface Ordered {
  kind: 'done';
  taskId: string;
  answerSha256: Sha256;
}

export interface Sought {
  /** Tasks that may be exports of packs, and all tasks. */
  packs: readonly string[];
  all: readonly string[];
  answerSha256: Sha256;
  at: string;
  unknownGraceMs: number;
}

/** A search: before an order it tells which tasks there are, and behind a doubtful one whether there is another. */
export function searchedFor(order: ExportOrder, sought: Sought): ExportStep {
  const { attempt, known, endedAt } = order;
  if (attempt.step === 'open') return { order: { ...order, known: [...sought.all] }, phase: 'export_order' };
  const found = sought.packs.find((id) => !known.includes(id));
  const { answerSha256, unknownGraceMs } = sought;
  const sinceAttemptEndedMs = Date.parse(sought.at) - Date.parse(endedAt ?? sought.at);
  const facts = { sinceAttemptEndedMs, unknownGraceMs, answerSha256, isDone: found !== undefined };
  const next = decided(order, { type: 'RecordLookUp', attempt: attempt.attempt, ...facts });
  if (found !== undefined) return { order: { ...next.order, taskId: found }, phase: 'export_wait' };
  return { ...next, phase: next.order.attempt.step === 'open' ? 'export_order' : 'export_seek' };
}

function decided(order: ExportOrder, command: AttemptCommand): { order: ExportOrder; problem?: string } {
  const fact = decideAttempt(order.attempt, command, POLICY);
  if (fact === undefined || fact.type === 'done') return { order };
  if (fact.type === 'refused')
    return { order: NEW_ORDER, problem: `the export was refused: ${fact.data.code} ${fact.data.text}` };
  return { order: { ...order, attempt: evolveAttempt(order.attempt, fact) } };
}
