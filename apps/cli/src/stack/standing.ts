import { subscriptionStandings } from '../../../gateway/src/programs/subscription-standings.js';
import { requestIdOf } from '#kernel';
import { installationId } from '#postgres';
import { programProcesses, sentenceOf } from '#service';
import { subscriptionLag } from '#subscriptions';
import type { Cause } from '../sample/stall.js';
import type { Stack } from './stack.js';

/** What is looked at of everything that runs. */
export interface Looked extends Pick<Stack, 'pool' | 'store' | 'failing' | 'logs'> {
  worker: Pick<Stack['worker'], 'pausedAccounts'>;
}

/**
 * Changes when anything gets on: an event is appended, a task is done, a subscription comes further. A failure changes
 * nothing of it, nor does a list that is read again and again: its task is never done.
 */
export async function markOf({ pool, store }: Pick<Looked, 'pool' | 'store'>): Promise<string> {
  const [head, lags, { rows }] = await Promise.all([
    store.head(),
    subscriptionLag(pool, store),
    pool.query<{ tasks: string }>('SELECT count(*)::text AS tasks FROM task'),
  ]);
  // A checkpoint on a server moves past events of the server too: what counts is what it is behind.
  return [head, lags.reduce((sum, { lag }) => sum + lag, 0n), rows[0]?.tasks].join(' ');
}

interface TaskGroup {
  state: 'given_up' | 'at_work' | 'overdue' | 'paused' | 'later';
  tasks: number;
  key: string;
  due_at: Date | null;
  error: string | null;
}

/**
 * The tasks of these documents by how they stand, each with the one that was due first. $1 ids, $2 lanes of paused
 * accounts.
 */
const TASKS = `
SELECT state, count(*)::int AS tasks, (array_agg(key ORDER BY due_at, id))[1] AS key, (array_agg(last_error
  ORDER BY due_at, id))[1] AS error,
  min(due_at) FILTER (WHERE failed_at IS NULL) AS due_at
FROM (
  SELECT task.*, CASE WHEN failed_at IS NOT NULL THEN 'given_up'
    WHEN lease_until > statement_timestamp() THEN 'at_work' WHEN due_at > statement_timestamp() THEN 'later'
    WHEN lane = ANY ($2::text[]) THEN 'paused' ELSE 'overdue' END AS state
  FROM task WHERE split_part(key, ':', 2) = ANY ($1::text[])
) AS stood GROUP BY state`;

const HELD = `SELECT FROM document_outcome WHERE request_id = ANY ($1::text[]) AND phase = 'held'`;

const SENDING = ['send', 'upload', 'group_check', 'group_start'];
/** Subscriptions that are named one by one. */
const MOST_NAMED = 2;

/** Why the documents of these commands do not get on, as far as anybody can tell. */
export async function causeOf(looked: Looked, commandIds: string[]): Promise<Cause> {
  const { pool, logs } = looked;
  const installation = await installationId(pool);
  const requestIds = commandIds.map((commandId) => requestIdOf(installation, commandId));
  const paused = looked.worker.pausedAccounts();
  const lanes = paused.flatMap(({ account }) => SENDING.map((method) => `${account}/${method}`));
  const { rows } = await pool.query<TaskGroup>(TASKS, [requestIds, lanes]);
  const tasks = (state: TaskGroup['state']): TaskGroup | undefined => rows.find((one) => one.state === state);
  const held = (await pool.query(HELD, [requestIds])).rowCount ?? 0;
  const failing = looked.failing();
  const causes = [
    ...(failing.length > 0 ? failingSentences(failing) : await behindSentences(looked)),
    ...given(tasks('given_up'), ({ tasks: n, key, error }) => `tasks given up: ${n}, such as ${key}: ${error}`),
    ...given(
      tasks('overdue'),
      (group) => `tasks overdue that nobody takes: ${group.tasks}, such as ${due('since', group)}`,
    ),
    ...(tasks('paused') === undefined ? [] : paused.map(pausedSentence)),
    ...(held === 0 ? [] : [`documents held: ${held} (GET /v1/documents?phase=held)`]),
    ...given(tasks('at_work'), ({ tasks: n, key }) => `tasks at work: ${n}, such as ${key}`),
    ...given(
      tasks('later'),
      (group) => `tasks that wait for their time: ${group.tasks}, the first ${due('until', group)}`,
    ),
  ].map((sentence) => sentenceOf({ message: sentence }));
  return {
    sentence: causes.length === 0 ? `no cause is known; see ${logs}` : causes.join('; '),
    isHalted: failing.some((one) => one.isHalted),
    waits: held > 0 || (['paused', 'at_work', 'later'] as const).some((state) => tasks(state) !== undefined),
  };
}

const given = (group: TaskGroup | undefined, sentence: (group: TaskGroup) => string): string[] =>
  group === undefined ? [] : [sentence(group)];
const due = (word: 'since' | 'until', { key, due_at: dueAt, error }: TaskGroup): string =>
  `${key} ${word} ${dueAt?.toISOString()}${error === null ? '' : `, which last said: ${error}`}`;
const pausedSentence = ({ account, cause, text }: ReturnType<Looked['worker']['pausedAccounts']>[number]): string =>
  `account ${account} is paused (${cause}: ${text}); see pedigree accounts`;

function failingSentences(failing: ReturnType<Looked['failing']>): string[] {
  const named = failing
    .slice(0, MOST_NAMED)
    .map(({ program, name, reason }) => `subscription ${name} of the ${program} ${reason}`);
  return failing.length > MOST_NAMED ? [...named, `so do ${failing.length - MOST_NAMED} more`] : named;
}

async function behindSentences({ pool, store }: Looked): Promise<string[]> {
  return subscriptionStandings(await programProcesses(pool), await subscriptionLag(pool, store))
    .filter(({ lag }) => lag > 0n)
    .slice(0, MOST_NAMED)
    .map(({ name, lag, lagUnit, state }) => {
      const who = state === 'nobody' ? 'nobody runs' : 'nothing is handled by';
      return `${who} subscription ${name} (${lagUnit}s behind: ${lag})`;
    });
}
