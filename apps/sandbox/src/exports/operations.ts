import { randomUUID } from 'node:crypto';
import { emptyAnswer, jsonAnswer } from '../http/answer.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import type { SlowUserOperation, UserCall, UserOperation } from '../operations/call.js';
import type { Account } from '../packs/world.js';
import { shown } from '../registries/answers.js';
import { wholeNumber } from '../registries/request.js';
import type { Registry } from '../registry.js';
import { spreadOf } from '../seeded.js';
import { Exports, MAX_TASKS, stateOf, type ExportTask } from './exports.js';
import { IMPOSSIBLE, PACKS } from './reports.js';

const MAX_PAGE = 1000;

/** POST data/export/tasks: orders a report (public-facts 1.8). */
export const exportCreate: UserOperation = (registry, call) => {
  const { account } = call;
  const reportId = jsonObjectOf(call.body)[registry.profile.field('report_id')];
  if (typeof reportId !== 'string' || !Exports.has(reportId))
    throw refuse(400, `there is no report ${JSON.stringify(reportId)}`);
  return ordered(registry, account, { reportId });
};

/** POST export/tasks/sgtins: orders the export of all packs, whose rows are some hours old (public-facts 5). */
export const packExportCreate: UserOperation = (registry, { account, body }) => {
  jsonObjectOf(body);
  return ordered(registry, account, { reportId: PACKS, ageMs: registry.settings.packExportAgeMs });
};

function ordered(registry: Registry, account: Account, of: Pick<ExportTask, 'reportId' | 'ageMs'>) {
  if (registry.exports.of(account).length >= MAX_TASKS)
    throw refuse(400, `the user has ${MAX_TASKS} tasks already; delete results that are no more needed`);
  // All that is due is in the report, so that a replay meets the same packs.
  const createdMs = registry.processing.drainNow();
  const { seed, exportMs } = registry.settings;
  const spread = 0.5 + spreadOf(seed, createdMs);
  const task: ExportTask = {
    taskId: randomUUID(),
    resultId: randomUUID(),
    account: account.name,
    ...of,
    createdMs,
    dueMs: createdMs + Math.round(exportMs * spread),
  };
  registry.journal.append({ k: 'export', task, v: createdMs, w: Date.now() });
  registry.exports.add(task);
  return jsonAnswer(200, registry.profile.named({ task_id: task.taskId }));
}

/** POST data/export/tasks/search: the tasks of the user in these states, or in all, newest first. */
export const exportSearch: UserOperation = (registry, { account, body }) => {
  const { field, named, exportStatus } = registry.profile;
  const states = jsonObjectOf(body)[field('current_statuses')];
  if (states !== undefined && !Array.isArray(states)) throw refuse(400, `${field('current_statuses')} must be a list`);
  const now = registry.clock.nowMs();
  const list = registry.exports
    .of(account)
    .map((task) => ({ task_id: task.taskId, report_id: task.reportId, status: exportStatus(stateOf(task, now)) }))
    .filter(({ status }) => states?.includes(status) ?? true)
    .map(({ status, ...task }) => named({ ...task, current_status: status }));
  return jsonAnswer(200, named({ list: list.reverse(), total_count: list.length }));
};

/** GET data/export/tasks/{task_id}. */
export const exportState: UserOperation = (registry, call) => {
  const task = registry.exports.of(call.account).find((one) => one.taskId === call.params['task_id']);
  if (task === undefined) throw refuse(404, 'there is no such task');
  const state = stateOf(task, registry.clock.nowMs());
  return jsonAnswer(
    200,
    registry.profile.named({
      current_status: registry.profile.exportStatus(state),
      ...(state === 'failed' ? { error_message: IMPOSSIBLE[task.reportId] } : {}),
    }),
  );
};

/** GET data/export/results: finished tasks, newest first; `page` counts from 0. */
export const exportResults: UserOperation = (registry, call) => {
  const now = registry.clock.nowMs();
  const { field, named } = registry.profile;
  const size = wholeNumber(call.query.get(field('size')) ?? 100, field('size'), MAX_PAGE);
  const at = wholeNumber(call.query.get(field('page')) ?? 0, field('page'), 1_000_000);
  const ids = call.query.getAll(field('task_ids')).flatMap((text) => text.split(','));
  const finished = registry.exports
    .of(call.account)
    .filter((task) => stateOf(task, now) !== 'preparing' && (ids.length === 0 || ids.includes(task.taskId)));
  const page = finished.reverse().slice(at * size, (at + 1) * size);
  const { entries, total } = shown(registry, call, {
    entries: page.map((task) => named(resultRecord(task, now))),
    total: finished.length,
  });
  return jsonAnswer(200, named({ list: entries, total_count: total }));
};

/** GET data/export/results/{result_id}/file: the zip of a CSV. */
export const exportFile: SlowUserOperation = async (registry, call) => {
  const task = resultOf(registry, call);
  if (stateOf(task, registry.clock.nowMs()) !== 'completed') throw refuse(404, 'there is no file');
  const body = await registry.exports.file(task);
  const headers = { 'content-disposition': `attachment; filename="${task.reportId}.zip"` };
  return { status: 200, body, contentType: 'application/zip', headers };
};

/** DELETE data/export/results/{result_id}: the result and its task, which makes room for another. */
export const exportDelete: UserOperation = (registry, call) => {
  const { resultId } = resultOf(registry, call);
  registry.journal.append({ k: 'export_delete', id: resultId });
  registry.exports.delete(resultId);
  return emptyAnswer();
};

function resultOf(registry: Registry, call: UserCall): ExportTask {
  const now = registry.clock.nowMs();
  const task = registry.exports
    .of(call.account)
    .find((one) => one.resultId === call.params['result_id'] && stateOf(one, now) !== 'preparing');
  if (task === undefined) throw refuse(404, 'there is no such result');
  return task;
}

function resultRecord(task: ExportTask, now: number) {
  const completed = stateOf(task, now) === 'completed';
  return {
    result_id: task.resultId,
    task_id: task.taskId,
    report_id: task.reportId,
    available: completed ? 'AVAILABLE' : 'NOT_AVAILABLE',
    download_status: completed ? 'SUCCESS' : 'FAILED',
  };
}
