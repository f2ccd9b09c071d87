import { writeFile } from 'node:fs/promises';
import type { FetchContext } from '../src/fetches/read-pages.js';
import { zipOf } from '../../../libs/reconciliation/test/made-zip.js';

type Exports = FetchContext['packs']['exports'];
type Results = FetchContext['packs']['lists']['page'];

interface Task {
  taskId: string;
  status: 'preparing' | 'completed' | 'failed' | 'unrecognised';
}

/** A registry in memory that makes exports of packs. Every call is written down before it is answered. */
export class ExportedPacks {
  readonly asked: string[] = [];
  /** All tasks of the user. */
  tasks: Task[] = [{ taskId: 'of another', status: 'completed' }];
  readonly removed: string[] = [];
  /** Looks that an export takes, and how it ends. */
  looks = 2;
  ends: Task['status'] = 'completed';
  /** How it stands until then. */
  begins: Task['status'] = 'preparing';
  hasResult = true;
  /** Results of each task. */
  parts = 1;
  /** Whether it tells the task of a result. */
  tellsTask = true;
  /** Whether it tells the results of all tasks, whichever it was asked for. */
  tellsAllResults = false;
  /** Before a call is made at the registry, and when it was made: may throw, or give another outcome. */
  before: (call: string) => object | undefined = () => undefined;
  behind: (call: string) => object | undefined = () => undefined;
  private orders = 0;
  private looked = 0;

  constructor(readonly rows: readonly string[]) {}

  get calls(): FetchContext['packs'] {
    const noCall = () => this.noCall();
    return {
      ...{ exports: this.exports, lists: { page: this.lists } },
      ...{ sgtins: { byList: noCall }, ssccs: { fullHierarchy: noCall } },
    };
  }

  private readonly exports: Exports = {
    tasks: () => this.answer('search', () => this.tasks.map(({ taskId }) => ({ taskId, fields: {} }))),
    createOfPacks: () =>
      this.answer('order', () => {
        const taskId = `task ${(this.orders += 1)}`;
        this.tasks.push({ taskId, status: this.begins });
        return { taskId };
      }),
    state: (_account, taskId) =>
      this.answer(`state ${taskId}`, () => {
        const task = this.tasks.find((one) => one.taskId === taskId);
        if (task?.status === this.begins && (this.looked += 1) >= this.looks) task.status = this.ends;
        return { phase: task?.status ?? 'unrecognised', status: task?.status ?? 'none' };
      }),
    download: async (_account, resultId, path) => {
      const zip = zipOf([{ name: 'SGTINS.csv', content: this.csv() }]);
      await writeFile(path, zip);
      return this.answer(`file ${resultId}`, () => ({ path, bytes: zip.length }));
    },
    remove: (_account, resultId) =>
      this.answer(`remove ${resultId}`, () => {
        this.removed.push(resultId);
        this.tasks = this.tasks.filter(({ taskId }) => `result of ${taskId}` !== resultId);
        return null;
      }),
  };

  private readonly lists = ((...[account, list, asked]: Parameters<Results>) =>
    list === 'sgtins'
      ? this.answer('filter', () => ({ items: [], total: 0 }))
      : this.results(account, list, asked as never)) as unknown as Results;

  private readonly results = ((_account: string, _list: string, { filter }: { filter: { taskIds: string[] } }) =>
    this.answer('results', () => {
      const asked = this.hasResult ? filter.taskIds : [];
      const told = this.tellsAllResults ? ['of another', ...asked] : asked;
      const items = told.flatMap((taskId) =>
        Array.from({ length: this.parts }, (_, n) => ({
          ...(this.tellsTask ? { taskId } : {}),
          resultId: `result of ${taskId}${n === 0 ? '' : `, part ${n + 1}`}`,
        })),
      );
      return { items, total: items.length };
    })) as unknown as Results;

  private csv(): Buffer {
    const head = 'sgtin,status,branch_id,sscc,batch,expiration_date,status_date';
    return Buffer.from(`${[head, ...this.rows].join('\r\n')}\r\n`);
  }

  private noCall(): never {
    throw new Error('packs are not asked by name here');
  }

  private async answer<T>(what: string, make: () => T) {
    this.asked.push(what);
    await Promise.resolve();
    const other = this.before(what);
    if (other !== undefined) return other as never;
    const value = make();
    const instead = this.behind(what);
    if (instead !== undefined) return instead as never;
    const body = Buffer.from(JSON.stringify(value));
    const raw = {
      body,
      receivedAt: new Date('2026-11-23T06:00:00Z'),
      httpStatus: 200,
      contentType: 'application/json',
    };
    return { kind: 'ok' as const, value, raw: { ...raw, receivedMonotonicMs: 0 } };
  }
}
