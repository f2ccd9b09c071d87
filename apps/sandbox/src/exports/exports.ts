import type { PackStore } from '../packs/packs.js';
import type { Account, World } from '../packs/world.js';
import { csvLine, IMPOSSIBLE, REPORTS, type Report } from './reports.js';
import { zipOf } from './zip.js';

/** An ordered export. Moments are of the virtual clock. */
export interface ExportTask {
  taskId: string;
  resultId: string;
  /** Name of the user. */
  account: string;
  reportId: string;
  createdMs: number;
  /** When it is completed, or has failed. */
  dueMs: number;
  /** Of packs: how old its rows are. */
  ageMs?: number;
}

type ExportState = 'preparing' | 'completed' | 'failed';

/** Tasks of one user, finished ones included, until their results are deleted (public-facts 1.8). */
export const MAX_TASKS = 10;
const ROWS_PER_PIECE = 2000;

interface Order {
  task: ExportTask;
  report: Report;
  file: Promise<Buffer> | undefined;
}

/**
 * Asynchronous exports: what is in a report is settled when it is ordered, and the file is made when it is first
 * fetched.
 */
export class Exports {
  private readonly orders = new Map<string, Order>();

  constructor(
    private readonly packs: PackStore,
    private readonly world: World,
  ) {}

  static has(reportId: string): boolean {
    return REPORTS[reportId] !== undefined || reportId in IMPOSSIBLE;
  }

  add(task: ExportTask): void {
    const owner = (this.world.accountsByName.get(task.account) as Account).participant;
    const atMs = task.createdMs - (task.ageMs ?? 0);
    this.orders.set(task.taskId, {
      task,
      report: REPORTS[task.reportId]?.(this.packs, this.world, { owner, atMs }) ?? [],
      file: undefined,
    });
  }

  /** Tasks of a user, oldest first. */
  of(account: Account): ExportTask[] {
    return [...this.orders.values()].map((one) => one.task).filter((task) => task.account === account.name);
  }

  delete(resultId: string): void {
    for (const { task } of this.orders.values()) if (task.resultId === resultId) this.orders.delete(task.taskId);
  }

  /** The zip of a completed task; the same bytes each time. */
  file(task: ExportTask): Promise<Buffer> {
    const order = this.orders.get(task.taskId);
    if (order === undefined) throw new Error(`there is no task ${task.taskId}`);
    return (order.file ??= zipOf(`${task.reportId}.csv`, piecesOf(order.report), task.createdMs));
  }
}

export function stateOf({ reportId, dueMs }: ExportTask, virtualMs: number): ExportState {
  if (virtualMs < dueMs) return 'preparing';
  return reportId in IMPOSSIBLE ? 'failed' : 'completed';
}

/** The report as text, in pieces, and between them others have their turn. */
async function* piecesOf(report: Report): AsyncIterable<string> {
  let lines: string[] = [];
  for (const row of report) {
    lines.push(csvLine(row));
    if (lines.length < ROWS_PER_PIECE) continue;
    yield lines.join('');
    lines = [];
    await new Promise((resolve) => setImmediate(resolve));
  }
  yield lines.join('');
}
