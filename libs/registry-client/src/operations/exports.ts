import type { JsonObject } from '#kernel';
import { doneOf, objectOf } from '../call/answers.js';
import { CHANGE, READ, READ_SURELY, type Caller } from '../call/caller.js';
import type { Reading } from '../call/classify.js';
import { oneLine } from '../call/error-body.js';
import { asList, key, readRecords, text, type RecordOf } from '../lists/shape.js';
import type { CallOutcome, RawAnswer } from '../port.js';

/** A finished part of an export. `available` and `downloadStatus` as the registry writes them. */
export const EXPORT_RESULT = {
  resultId: key('result_id'),
  taskId: text('task_id'),
  available: text('available'),
  downloadStatus: text('download_status'),
};

/** A task as a search shows it. Neither what it is of nor when it was ordered has a known field. */
const EXPORT_TASK = { taskId: key('task_id') };
export type ExportTask = RecordOf<typeof EXPORT_TASK>;

/** `unrecognised`: a state that the profile does not know; it is in `status`, as one line, and the task may go on. */
export interface ExportState {
  phase: 'preparing' | 'completed' | 'failed' | 'unrecognised';
  status: string;
  errorMessage?: string;
}

interface Order {
  operation: 'export_create' | 'pack_export_create';
  body: JsonObject;
  notAfterMonotonicMs?: number;
}

/**
 * Asynchronous exports: task, state, results by page (the list export_results), file, removal (registry-interface 4:
 * asynchronous variants; public-facts 1.8).
 */
export class Exports {
  constructor(private readonly caller: Caller) {}

  /** Not to be created again after `unknown`: the registry limits the tasks of a user. */
  async create(
    account: string,
    task: { reportId: string; params?: JsonObject },
  ): Promise<CallOutcome<{ taskId: string }>> {
    const { fields } = this.caller.profile;
    const params = task.params === undefined ? {} : { [fields.params]: task.params };
    return this.order(account, { operation: 'export_create', body: { [fields.report_id]: task.reportId, ...params } });
  }

  /** Orders the export of all packs; the same holds of `unknown`. */
  async createOfPacks(account: string, notAfterMonotonicMs: number): Promise<CallOutcome<{ taskId: string }>> {
    const { body } = this.caller.profile.packExport;
    return this.order(account, { operation: 'pack_export_create', body: body as JsonObject, notAfterMonotonicMs });
  }

  private async order(
    account: string,
    { operation, body, notAfterMonotonicMs }: Order,
  ): Promise<CallOutcome<{ taskId: string }>> {
    const { profile, requests } = this.caller;
    const { fields } = profile;
    const request = requests.plain(operation, {}, body);
    const read = (raw: RawAnswer): Reading<{ taskId: string }> => {
      const json = objectOf(raw, profile);
      if ('problem' in json) return json;
      const taskId = json.value[fields.task_id];
      return typeof taskId === 'string' && taskId !== ''
        ? { value: { taskId } }
        : { problem: `the answer has no text in "${fields.task_id}"` };
    };
    return this.caller.call(account, operation, { request, manner: CHANGE, read, notAfterMonotonicMs });
  }

  /** All tasks of the user: in whatever state, also one that the profile does not know, and whatever they are of. */
  async tasks(account: string): Promise<CallOutcome<readonly ExportTask[]>> {
    const { profile, requests } = this.caller;
    const { fields, packExport } = profile;
    const read = (raw: RawAnswer): Reading<readonly ExportTask[]> => {
      const json = objectOf(raw, profile);
      if ('problem' in json) return json;
      const list = json.value[fields.list];
      if (list === undefined) return { problem: `the answer has no "${fields.list}"` };
      const records = readRecords(asList(list), EXPORT_TASK, profile);
      return 'problem' in records ? { problem: `"${fields.list}"${records.problem}` } : { value: records.value };
    };
    const request = requests.plain('export_search', {}, packExport.search as JsonObject);
    return this.caller.call(account, 'export_search', { request, manner: READ, read });
  }

  async state(account: string, taskId: string): Promise<CallOutcome<ExportState>> {
    const { profile, requests } = this.caller;
    const read = (raw: RawAnswer): Reading<ExportState> => {
      const json = objectOf(raw, profile);
      if ('problem' in json) return json;
      const { [profile.fields.current_status]: status, [profile.fields.error_message]: errorMessage } = json.value;
      if (typeof status !== 'string' || status === '')
        return { problem: `the answer has no text in "${profile.fields.current_status}"` };
      const phase = Object.hasOwn(profile.exportStatuses, status) ? profile.exportStatuses[status] : undefined;
      return {
        value: {
          phase: phase ?? 'unrecognised',
          status: oneLine(status),
          ...(typeof errorMessage === 'string' && errorMessage !== '' ? { errorMessage: oneLine(errorMessage) } : {}),
        },
      };
    };
    return this.caller.call(account, 'export_state', {
      request: requests.plain('export_state', { task_id: taskId }),
      manner: READ_SURELY,
      read,
    });
  }

  /** The bytes of one result: a ZIP of CSV files. */
  async file(account: string, resultId: string): Promise<CallOutcome<{ bytes: Buffer }>> {
    const read = (raw: RawAnswer): Reading<{ bytes: Buffer }> => {
      if (raw.body.length === 0) return { problem: 'the file is empty' };
      // By its beginning, for the content type may be wrong: neither a ZIP nor a CSV begins like a web page or a JSON
      // object.
      const beginning = raw.body.subarray(0, 64).toString('latin1').trimStart();
      return /^[<{]/.test(beginning)
        ? { problem: `the answer is ${raw.contentType || 'text'} instead of a file` }
        : { value: { bytes: raw.body } };
    };
    const request = this.caller.requests.plain('export_file', { result_id: resultId });
    return this.caller.call(account, 'export_file', { request, manner: READ_SURELY, read });
  }

  /** The same into a new file, whatever its length, and whatever it is. */
  async download(
    account: string,
    resultId: string,
    path: string,
  ): Promise<CallOutcome<{ path: string; bytes: number }>> {
    const { maxFileBytes: maxBytes, downloadMs: timeoutMs } = this.caller.profile.packExport;
    return this.caller.call(account, 'export_file', {
      request: this.caller.requests.plain('export_file', { result_id: resultId }),
      manner: READ_SURELY,
      into: { path, maxBytes, timeoutMs },
      read: (raw) =>
        raw.file === undefined || raw.file.bytes === 0 ? { problem: 'the file is empty' } : { value: raw.file },
    });
  }

  /**
   * Old results must be removed, else new tasks fail. One that is gone already is `not_found`, so it may be asked
   * twice.
   */
  async remove(account: string, resultId: string): Promise<CallOutcome<null>> {
    const { profile, requests } = this.caller;
    return this.caller.call(account, 'export_delete', {
      request: requests.plain('export_delete', { result_id: resultId }),
      manner: READ_SURELY,
      read: (raw) => doneOf(raw, profile),
    });
  }
}
