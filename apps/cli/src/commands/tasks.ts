import { camelCase, type Snake } from '../../../gateway/src/api/snake-case.js';
import type { GatewayClient } from '../gateway-client.js';
import { instant, out, table } from '../print.js';

interface Status {
  deadlines: { sentence: string };
  tasks: { ready: number; leased: number; failed: number; overdue: number; oldestDueAt?: string };
  programs: {
    name: string;
    state: 'running' | 'missing' | 'not_running';
    processes: { process: string; startedAt: string; seenAt: string }[];
  }[];
  subscriptions: {
    name: string;
    lag: string;
    lagUnit: 'event' | 'byte';
    updatedAt: string;
    state: 'running' | 'standing_by' | 'halted' | 'nobody';
    processes: string[];
    reason?: string;
  }[];
}

interface Failed {
  items: { key: string; attempts: number; failedAt: string; error: string }[];
}

interface Parked {
  items: {
    key: string;
    stream: string;
    version: number;
    held: number;
    attempts: number;
    parkedAt: string;
    error: string;
  }[];
}

/**
 * Prints how the machinery stands, the tasks that were given up and what is parked. Returns 0 when all is well, 2 when
 * somebody must look.
 */
export async function showTasks(gateway: GatewayClient, json: boolean): Promise<number> {
  const status = await gateway.get<Status>('/v1/operations');
  const { items: failed } = await gateway.get<Failed>('/v1/operations/failed-tasks');
  const { items: parked } = await gateway.get<Parked>('/v1/operations/parked');
  if (json) {
    const [operations, failed_tasks, parked_instances] = await Promise.all(
      ['', '/failed-tasks', '/parked'].map((path) => gateway.raw(`/v1/operations${path}`)),
    );
    out(JSON.stringify({ operations, failed_tasks, parked_instances }));
  } else {
    out(countsSentence(status.tasks));
    out(`\n${table(['program', 'state', 'process', 'since', 'seen'], status.programs.flatMap(programRows))}`);
    out(`\n${subscriptionsTable(status)}`);
    out(`\n${status.deadlines.sentence}`);
    if (parked.length > 0) out(`\n${parkedTable(parked)}`);
    if (failed.length > 0) out(`\n${failedTable(failed)}`);
  }
  const isWell =
    status.programs.every((one) => one.state !== 'missing') &&
    status.subscriptions.every((one) => one.state !== 'halted' && one.state !== 'nobody');
  return isWell && failed.length + parked.length === 0 ? 0 : 2;
}

function countsSentence({ ready, leased, overdue, failed, oldestDueAt }: Status['tasks']): string {
  const since = oldestDueAt === undefined ? '' : ` since ${oldestDueAt}`;
  return `tasks: ${ready} waiting, ${leased} at work, ${overdue} overdue${since}, ${failed} given up`;
}

const subscriptionsTable = ({ subscriptions }: Status): string =>
  table(
    ['subscription', 'state', 'behind', 'moved', 'why'],
    subscriptions.map((one) => [one.name, STANDS[one.state], behind(one), instant(one.updatedAt), one.reason]),
  );

const parkedTable = (parked: Parked['items']): string =>
  table(
    ['parked', 'at event', 'held', 'attempts', 'since', 'error'],
    parked.map(({ key, stream, version, held, attempts, parkedAt, error }) => [
      ...[key, `${stream} ${version}`, held, attempts],
      ...[instant(parkedAt), error],
    ]),
  );

const failedTable = (failed: Failed['items']): string =>
  table(
    ['given up', 'attempts', 'at', 'error'],
    failed.map((one) => [one.key, one.attempts, instant(one.failedAt), one.error]),
  );

const STANDS = { running: 'running', standing_by: 'standing by', halted: 'HALTED', nobody: 'NOBODY RUNS IT' } as const;
const behind = ({ lag, lagUnit }: Status['subscriptions'][number]): string =>
  lag === '0' ? '' : `${lag} ${lagUnit}${lag === '1' ? '' : 's'}`;

/** A line for each process that is there; of a program that does not run, one that tells when it was there last. */
function programRows({ name, state, processes }: Status['programs'][number]): (string | undefined)[][] {
  const stands = { running: 'running', missing: 'NOT RUNNING', not_running: 'not running' }[state];
  if (processes.length === 0) return [[name, stands]];
  return processes.map(({ process, startedAt, seenAt }) => [
    name,
    stands,
    process,
    instant(startedAt),
    instant(seenAt),
  ]);
}

interface Orphans {
  items: { kind: string; id: string; account: string; phase: string; since: string }[];
}

/**
 * Prints the unconcluded documents and groups that nothing carries on; with a reason, has them carried on. Returns 0
 * when there are none or all were planned anew, 2 when somebody must look.
 */
export async function showOrphans(
  gateway: GatewayClient,
  { reason, json }: { reason?: string; json?: boolean },
): Promise<number> {
  const { items } =
    reason === undefined
      ? await gateway.get<Orphans>('/v1/operations/orphans')
      : camelCase<Orphans>((await gateway.change('POST', '/v1/operations/replans', { reason })) as Snake<Orphans>);
  if (json === true) out(JSON.stringify({ items }));
  else if (items.length === 0)
    out(
      'no orphans: every document that is not concluded has a task, is parked, or waits for something that has a name',
    );
  else
    out(
      table(
        [reason === undefined ? 'orphan' : 'planned anew', 'id', 'account', 'phase', 'since'],
        items.map((one) => [one.kind, one.id, one.account, one.phase, instant(one.since)]),
      ),
    );
  return items.length === 0 || reason !== undefined ? 0 : 2;
}

/** Has a failed task, or what is parked, tried again. */
export async function retryTask(gateway: GatewayClient, key: string, reason: string): Promise<number> {
  await gateway.retry(key, reason);
  out(`${key} is due now`);
  return 0;
}
