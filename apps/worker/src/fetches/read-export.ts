import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOfFile } from '#duckdb';
import { defined, sha256Hex, type JsonObject } from '#kernel';
import { inTransaction } from '#postgres';
import {
  anew,
  answerOrder,
  beginOrder,
  checkZip,
  completeFetch,
  databaseNow,
  failFetch,
  fetchTask,
  findFetch,
  keepIntent,
  keepStep,
  methodOf,
  orderOf,
  searchedFor,
  writePieces,
  ZipFault,
  type ExportFault,
  type ExportOrder,
  type ExportPhase,
  type ExportStep,
  type Ordered,
  type RegistryFetch,
  type StepAnswer,
} from '#reconciliation';
import type { CallAnswer } from '#domain';
import type { CallOutcome, ListRecord, Profile, RawAnswer } from '#registry-client';
import type { TaskResult } from '#tasks';
import { retryAfterMs, WRITE_WITHIN_MS } from '../registry-tasks/call-timing.js';
import { ended, failed, mostPreparingMs, problemOf, type Failure, type FetchContext } from './read-pages.js';

/** Between two look-ups of an order, or two looks at an export, unless the interval of the method is longer. */
const LOOK_EVERY_MS = 2_000;
/** Downloads of a file that turns out damaged, too large or empty. */
const MOST_DOWNLOADS = 5;
/** Times that something is not there which ought to be. */
const MOST_ABSENT = 10;
/** Tries to remove a result whose file is here. */
const MOST_REMOVALS = 5;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Begins the name of the folder of a download. */
const FOLDER = 'pedigree-export-';
/** More than a download takes. */
const MOST_FOLDER_MS = DAY_MS;
/** Times that a late answer is decided on again, where another process goes on meanwhile. */
const MOST_TRIES = 5;

/**
 * Makes the next step of an export. Each step is kept before the next call, so a process that ends costs the one call
 * that it has in hand; ordering is never repeated while an earlier order may have landed (principles 6.8).
 */
export async function readExport(
  context: FetchContext,
  task: { payload: { fetchId: string } },
  phase: ExportPhase,
): Promise<TaskResult> {
  const fetch = await findFetch(context.pool, task.payload.fetchId);
  if (fetch?.phase !== phase) return { kind: 'done' };
  return STEPS[phase](context, fetch, orderOf(fetch));
}

type Step = (context: FetchContext, fetch: RegistryFetch, order: ExportOrder) => Promise<TaskResult>;

const STEPS: Record<ExportPhase, Step> = {
  export_seek: seek,
  export_order: placeOrder,
  export_wait: look,
  export_result: findResult,
  export_file: download,
  export_remove: remove,
};

const answerIn = ({ body, receivedAt }: RawAnswer): StepAnswer => ({ body, at: receivedAt });

async function seek(context: FetchContext, fetch: RegistryFetch, order: ExportOrder): Promise<TaskResult> {
  const { packs, profile, pool } = context;
  const outcome = await packs.exports.tasks(fetch.account);
  if (outcome.kind !== 'ok') return failedAt(context, fetch, problemOf(outcome));
  const step = searchedFor(order, {
    tasks: outcome.value.map(({ taskId }) => taskId),
    ...{ answerSha256: sha256Hex(outcome.raw.body), at: await databaseNow(pool) },
    unknownGraceMs: profile.rules.unknownGraceMs,
  });
  const delayMs = step.phase === 'export_seek' ? LOOK_EVERY_MS : 0;
  return goOn(context, fetch, { step, answer: answerIn(outcome.raw), delayMs });
}

async function placeOrder(context: FetchContext, fetch: RegistryFetch, order: ExportOrder): Promise<TaskResult> {
  const { pool, packs, clock } = context;
  const begun = beginOrder(order, await databaseNow(pool));
  const { attempt } = order.attempt;
  if (begun === undefined) {
    const reason = 'the process that ordered the export ended before the answer was recorded';
    return recordAnswer(context, fetch, { attempt, answer: { kind: 'unconfirmed', reason }, calls: 1 });
  }
  const notAfter = clock.monotonicMs() + WRITE_WITHIN_MS;
  if (!(await keepIntent(pool, fetch, begun))) return { kind: 'retry', delayMs: 0, countsAsAttempt: false };
  const outcome = await packs.exports.createOfPacks(fetch.account, notAfter);
  const raw = 'raw' in outcome ? outcome.raw : undefined;
  const calls = outcome.kind === 'not_sent' ? 0 : 1;
  return recordAnswer(context, fetch, { attempt, answer: answerTo(outcome, attempt), raw, calls });
}

/** What an outcome says to an order. */
function answerTo(outcome: CallOutcome<{ taskId: string }>, attempt: number): CallAnswer | Ordered {
  const named = (raw: RawAnswer) => ({ answerSha256: sha256Hex(raw.body) });
  switch (outcome.kind) {
    case 'ok':
      return { kind: 'done', taskId: outcome.value.taskId };
    case 'refused': {
      const { kind, code, text, mayBeOthers, raw } = outcome;
      return { kind, code, text, ...named(raw), ...defined({ mayBeOthers }) };
    }
    case 'not_found':
      return { kind: 'refused', code: 'not_found', text: outcome.text, ...named(outcome.raw) };
    case 'rate_limited':
      return { kind: 'not_delivered', reason: outcome.text, retryAfterMs: retryAfterMs(attempt) };
    case 'not_sent':
      return { kind: 'not_delivered', reason: outcome.reason, retryAfterMs: retryAfterMs(attempt) };
    case 'unknown':
      return { kind: 'unconfirmed', reason: outcome.reason };
  }
}

interface Told {
  attempt: number;
  answer: CallAnswer | Ordered;
  raw?: RawAnswer | undefined;
  calls: number;
}

/** A late answer meets an export that another process has gone on with: it is decided again on what is there now. */
async function recordAnswer(
  context: FetchContext,
  { fetchId }: RegistryFetch,
  { attempt, answer, raw, calls }: Told,
): Promise<TaskResult> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const fetch = await findFetch(context.pool, fetchId);
    const isOpen = fetch?.phase === 'export_order' || fetch?.phase === 'export_seek';
    const at = await databaseNow(context.pool);
    const step = isOpen ? answerOrder(orderOf(fetch), { attempt, answer, at }) : undefined;
    if (!isOpen || step === undefined) return tooLate(context, { fetchId, answer });
    const delayMs = answer.kind === 'not_delivered' ? answer.retryAfterMs : 0;
    const result = await tryStep(context, fetch, { step, answer: raw && answerIn(raw), delayMs, calls });
    if (result !== undefined) return result;
  }
  return { kind: 'retry', delayMs: 0, countsAsAttempt: false };
}

/** The fetch does not wait for this answer any more. */
function tooLate(context: FetchContext, { fetchId, answer }: { fetchId: string; answer: Told['answer'] }): TaskResult {
  if (answer.kind === 'done')
    context.warn({ fetch: fetchId, task: answer.taskId }, 'an export that was ordered stays unread at the registry');
  return { kind: 'retry', delayMs: 0, countsAsAttempt: false };
}

async function look(context: FetchContext, fetch: RegistryFetch, order: ExportOrder): Promise<TaskResult> {
  const { packs, profile } = context;
  const outcome = await packs.exports.state(fetch.account, order.taskId ?? '');
  if (outcome.kind === 'not_found') return absent(context, fetch, `there is no export ${order.taskId}`);
  if (outcome.kind !== 'ok') return failedAt(context, fetch, problemOf(outcome));
  const { phase, status, errorMessage } = outcome.value;
  const answer = answerIn(outcome.raw);
  const looks = order.looks + 1;
  if (phase === 'completed')
    return goOn(context, fetch, { step: { order: { ...order, looks }, phase: 'export_result' }, answer });
  if (phase === 'failed') {
    const failure = `the registry could not make the export: ${status} ${errorMessage ?? ''}`.trim();
    return goOn(context, fetch, { step: { order: { ...order, looks, failure }, phase: 'export_result' }, answer });
  }
  const delayMs = Math.max(LOOK_EVERY_MS, profile.operations.export_state.intervalMs);
  const mostMs = mostPreparingMs(context, fetch);
  if (looks * delayMs > mostMs) {
    const problem = `the export ${order.taskId} is ${status} for ${hoursSaid(mostMs)}`;
    return goOn(context, fetch, { step: { order: { ...order, looks: 0 }, phase: 'export_wait', problem }, calls: 1 });
  }
  const step = { order: { ...order, looks }, phase: 'export_wait' as const };
  return goOn(context, fetch, { step, delayMs, calls: 1 });
}

const hoursSaid = (ms: number): string => (ms === DAY_MS ? 'a day' : `${Math.round((10 * ms) / HOUR_MS) / 10} hours`);

async function findResult(context: FetchContext, fetch: RegistryFetch, order: ExportOrder): Promise<TaskResult> {
  const { taskId, failure } = order;
  const outcome = await context.packs.lists.page(fetch.account, 'export_results', {
    filter: { taskIds: [taskId ?? ''] },
  });
  if (outcome.kind !== 'ok') return failedAt(context, fetch, problemOf(outcome));
  const { results, isTold } = resultsOf(outcome.value.items, taskId);
  const answer = answerIn(outcome.raw);
  const goTo = (next: Partial<ExportOrder>, to: ExportPhase) =>
    goOn(context, fetch, { step: { order: { ...order, ...next }, phase: to }, answer });
  const [found, ...more] = results;
  // A part of the packs would look like all of them.
  const several = `the export ${taskId} has ${results.length} results, and one is read`;
  const ends = failure ?? (more.length > 0 ? several : null);
  if (ends !== null) {
    // One of several that may be of others is not removed.
    if (found === undefined || (more.length > 0 && !isTold))
      return endFailed(context, fetch, { failure: ends, answer });
    const others = more.map(({ resultId }) => resultId);
    return goTo({ failure: ends, resultId: found.resultId, others }, 'export_remove');
  }
  if (found === undefined) return absent(context, fetch, `the export ${taskId} has no result`);
  const problem = problemOfResult(context.profile, found);
  return problem === undefined
    ? goTo({ resultId: found.resultId }, 'export_file')
    : failedAt(context, fetch, { problem, passes: true });
}

/** Why it cannot be downloaded yet; undefined where it can. */
function problemOfResult({ packExport }: Profile, found: ListRecord<'export_results'>): string | undefined {
  const { available, downloadStatus } = packExport.readyResult;
  const isReady =
    (found.available ?? available) === available && (found.downloadStatus ?? downloadStatus) === downloadStatus;
  return isReady ? undefined : `the result ${found.resultId} is ${found.available}, ${found.downloadStatus}`;
}

/** Those of this task; or all, of a registry that does not tell the task of a result: it was asked for these alone. */
function resultsOf(items: readonly ListRecord<'export_results'>[], taskId: string | null) {
  const ours = items.filter((one) => one.taskId === taskId);
  const isTold = ours.length > 0;
  return { results: isTold ? ours : items.filter((one) => one.taskId === undefined), isTold };
}

async function download(context: FetchContext, fetch: RegistryFetch, order: ExportOrder): Promise<TaskResult> {
  const { packs, profile } = context;
  const { maxCsvBytes, oldestRowHours, mapping } = profile.packExport;
  await sweep();
  const folder = await mkdtemp(join(tmpdir(), FOLDER));
  try {
    const path = join(folder, 'export.zip');
    const outcome = await packs.exports.download(fetch.account, order.resultId ?? '', path);
    if (outcome.kind === 'not_found')
      return await absent(context, fetch, `the result ${order.resultId} has no file: ${outcome.text}`);
    if (outcome.kind !== 'ok') {
      const failure = problemOf(outcome);
      const isUseless = outcome.kind === 'unknown' && outcome.isUseless === true;
      return await (isUseless ? useless(context, fetch, failure.problem) : failedAt(context, fetch, failure));
    }
    const checked = await checkZip(path, maxCsvBytes).catch((error: unknown) => {
      if (error instanceof ZipFault) return error;
      throw error;
    });
    if (checked instanceof ZipFault) {
      const { message: problem, isDamaged } = checked;
      return await (isDamaged
        ? useless(context, fetch, problem)
        : failedAt(context, fetch, { problem, passes: false }));
    }
    const moment = new Date(Date.parse(order.begunAt ?? '') - oldestRowHours * HOUR_MS).toISOString();
    const file = { ...(await digestOfFile(path)), csvBytes: checked.bytes, mapping: mapping as JsonObject, moment };
    const kept = await writePieces(context.pool, fetch, { path, at: outcome.raw.receivedAt });
    if (kept === undefined) return { kind: 'retry', delayMs: 0, countsAsAttempt: false };
    const step = { order: { ...orderOf(kept), file }, phase: 'export_remove' as const };
    return await goOn(context, kept, { step, calls: 1 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A file that is damaged, too large or empty will hardly be another one soon. */
const useless = (context: FetchContext, fetch: RegistryFetch, problem: string): Promise<TaskResult> =>
  counted(context, fetch, {
    kind: 'useless',
    then: (noted, times) => failedAt(context, noted, { problem, passes: times < MOST_DOWNLOADS, times }),
  });

/** Removes what processes that were killed have left: no download takes so long. */
async function sweep(): Promise<void> {
  for (const name of (await readdir(tmpdir())).filter((one) => one.startsWith(FOLDER))) {
    const path = join(tmpdir(), name);
    const at = (await stat(path).catch(() => undefined))?.mtimeMs ?? Infinity;
    if (Date.now() - at > MOST_FOLDER_MS) await rm(path, { recursive: true, force: true });
  }
}

/** A user has room for few tasks. The file is here, so that what stays behind is warned of, and hinders nothing. */
async function remove(context: FetchContext, fetch: RegistryFetch, order: ExportOrder): Promise<TaskResult> {
  const outcome = await context.packs.exports.remove(fetch.account, order.resultId ?? '');
  const isGone = outcome.kind === 'ok' || outcome.kind === 'not_found';
  if (!isGone) {
    const { problem, passes } = problemOf(outcome);
    if (passes && fetch.failures + 1 < MOST_REMOVALS) return failedAt(context, fetch, { problem, passes });
    const { fetchId, account } = fetch;
    context.warn(
      { fetch: fetchId, account, result: order.resultId, problem },
      'the result of an export was not removed',
    );
  }
  const answer = 'raw' in outcome && outcome.raw !== undefined ? answerIn(outcome.raw) : undefined;
  const [resultId, ...others] = order.others ?? [];
  if (resultId !== undefined) {
    const step = { order: { ...order, resultId, others }, phase: 'export_remove' as const };
    return goOn(context, fetch, { step, answer, calls: 1 });
  }
  if (order.failure !== null) return endFailed(context, fetch, { failure: order.failure, answer });
  await inTransaction(
    context.pool,
    async (tx) => {
      const step = { order, phase: 'export_remove' as const };
      if (await keepStep(tx, fetch, { step, answer, calls: 1, intervalMs: 0 })) await completeFetch(tx, fetch.fetchId);
    },
    { name: 'the end of an export' },
  );
  return { kind: 'done' };
}

/** Nothing of it is left: who goes on orders anew. */
const endFailed = (
  context: FetchContext,
  fetch: RegistryFetch,
  { failure, answer }: { failure: string; answer: StepAnswer | undefined },
): Promise<TaskResult> =>
  goOn(context, fetch, { step: { order: anew(orderOf(fetch)), phase: 'export_seek', problem: failure }, answer });

/** It may not be visible yet. One that stays away is ordered anew by who goes on. */
const absent = (context: FetchContext, fetch: RegistryFetch, problem: string): Promise<TaskResult> =>
  counted(context, fetch, {
    kind: 'absent',
    then: (noted, times) =>
      times < MOST_ABSENT
        ? failedAt(context, noted, { problem, passes: true })
        : goOn(context, noted, { step: { order: anew(orderOf(noted)), phase: 'export_seek', problem }, calls: 1 }),
  });

/** Faults of one kind are counted by themselves until the next step; a registry that is away is another matter. */
async function counted(
  context: FetchContext,
  fetch: RegistryFetch,
  { kind, then }: { kind: ExportFault; then: (noted: RegistryFetch, times: number) => Promise<TaskResult> },
): Promise<TaskResult> {
  const order = orderOf(fetch);
  const times = (order.faults?.[kind] ?? 0) + 1;
  const noted = { ...order, faults: { ...order.faults, [kind]: times } };
  if (!(await keepIntent(context.pool, fetch, noted))) return { kind: 'retry', delayMs: 0, countsAsAttempt: false };
  return then({ ...fetch, exportOrder: JSON.stringify(noted) }, times);
}

const goOn = async (context: FetchContext, fetch: RegistryFetch, made: Made): Promise<TaskResult> =>
  (await tryStep(context, fetch, made)) ?? { kind: 'done' };

interface Made {
  step: ExportStep;
  answer?: StepAnswer | undefined;
  delayMs?: number;
  /** Default: one where there is an answer. */
  calls?: number;
}

/**
 * Keeps a step and plans the task of its phase, or ends the fetch, in one transaction; of the same phase, this task
 * goes on. Undefined: another was faster.
 */
async function tryStep(
  context: FetchContext,
  fetch: RegistryFetch,
  { step, answer, delayMs = 0, calls = answer === undefined ? 0 : 1 }: Made,
): Promise<TaskResult | undefined> {
  const { intervalMs } = context.profile.operations[methodOf(step.phase)];
  const isKept = await inTransaction(
    context.pool,
    async (tx) => {
      const made = { ...step, order: { ...step.order, faults: {} } };
      if (!(await keepStep(tx, fetch, { step: made, answer, calls, intervalMs }))) return false;
      if (step.problem !== undefined) await failFetch(tx, fetch, step.problem);
      else if (step.phase !== fetch.phase)
        await context.queue.schedule(tx, [fetchTask(fetch, step.phase, `:${fetch.calls}`)]);
      return true;
    },
    { name: 'a step of an export' },
  );
  if (!isKept) return undefined;
  if (step.problem !== undefined) return ended(context, fetch, step.problem);
  return step.phase === fetch.phase ? { kind: 'retry', delayMs, countsAsAttempt: false } : { kind: 'done' };
}

const WHAT: Record<ExportPhase, string> = {
  export_seek: 'the exports of the user were not listed',
  export_order: 'the export was not ordered',
  export_wait: 'the state of the export was not read',
  export_result: 'the result of the export was not found',
  export_file: 'the file of the export was not read',
  export_remove: 'the result of the export was not removed',
};

const failedAt = (context: FetchContext, fetch: RegistryFetch, failure: Failure): Promise<TaskResult> =>
  failed(context, fetch, { ...failure, what: WHAT[fetch.phase as ExportPhase] });
