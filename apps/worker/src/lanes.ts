import type { Profile } from '#registry-client';
import type { TaskHandler } from '#tasks';
import type { TaskContext } from './registry-tasks/context.js';
import { downloadCopy } from './registry-tasks/download.js';
import { notePredecessor, runCommand } from './registry-tasks/internal.js';
import { lookUp } from './registry-tasks/look-up.js';
import { fetchReceipt } from './registry-tasks/receipt.js';
import { send } from './registry-tasks/send.js';
import { readStatuses } from './registry-tasks/status.js';

/** One lane that this worker serves. */
export interface Lane {
  name: string;
  kinds: Record<string, TaskHandler>;
  /** Handlers at work at the same time. */
  concurrency: number;
  /** Most tasks of one claim. */
  batch?: number;
}

/** While an interval is in force, few hands keep the lane busy: more would only hold slots that others could use. */
const HANDS_WITH_INTERVAL = 4;
const HANDS_WITHOUT_INTERVAL = 32;
const INTERNAL_HANDS = 64;
const STATUS_HANDS = 2;

/** The lanes of all accounts, and the two that call nobody. */
export function lanesOf(context: TaskContext, accounts: string[]): Lane[] {
  const { profile } = context;
  const hands = (operation: keyof Profile['operations']): number => (profile.operations[operation].intervalMs > 0 ? HANDS_WITH_INTERVAL : HANDS_WITHOUT_INTERVAL);
  const pageSize = profile.operations.list_outgoing.pageSize ?? 100;
  const internal: Lane[] = [
    { name: 'intake', kinds: { run_command: { handle: (task) => runCommand(context, task) } }, concurrency: INTERNAL_HANDS },
    { name: 'internal', kinds: { note_predecessor: { handle: (task) => notePredecessor(context, task) } }, concurrency: INTERNAL_HANDS },
  ];
  const ofAccount = (account: string): Lane[] => [
    { name: `${account}/send`, kinds: { send: { handle: (task) => send(context, task) } }, concurrency: hands('send') },
    {
      name: `${account}/status`,
      kinds: { status: { handleMany: (tasks) => readStatuses(context, tasks), most: pageSize } },
      concurrency: STATUS_HANDS,
      batch: pageSize,
    },
    { name: `${account}/receipt`, kinds: { receipt: { handle: (task) => fetchReceipt(context, task) } }, concurrency: hands('receipt') },
    { name: `${account}/download`, kinds: { download: { handle: (task) => downloadCopy(context, task) } }, concurrency: HANDS_WITH_INTERVAL },
    { name: `${account}/find_by_request_id`, kinds: { look_up: { handle: (task) => lookUp(context, task) } }, concurrency: HANDS_WITH_INTERVAL },
  ];
  return [...internal, ...accounts.flatMap(ofAccount)];
}
