import { defined, systemClock } from '#kernel';
import type { Task, TaskHandler, TaskResult } from '#tasks';
import type { Step, Watching } from '#telemetry';
import type { Lane } from '../lane.js';

type Outcome = TaskResult | { kind: 'threw'; error: string };

/** The same lanes, with every task counted, timed and, where traces are wanted, told as a step of its document. */
export function observedLanes(lanes: Lane[], watching: Watching): Lane[] {
  return lanes.map((lane) => ({
    ...lane,
    kinds: Object.fromEntries(Object.entries(lane.kinds).map(([kind, handler]) => [kind, observed(handler, watching)])),
  }));
}

function observed(handler: TaskHandler, watching: Watching): TaskHandler {
  if ('handle' in handler) {
    return {
      handle: async (task, handed) =>
        (await watched([task], watching, async () => [await handler.handle(task, handed)]))[0] as TaskResult,
    };
  }
  return {
    ...handler,
    handleMany: (tasks, handed) => watched(tasks, watching, () => handler.handleMany(tasks, handed)),
  };
}

async function watched<Result extends TaskResult | Error>(
  tasks: Task[],
  watching: Watching,
  work: () => Promise<Result[]>,
): Promise<Result[]> {
  const startedAt = systemClock.now();
  const startedMs = systemClock.monotonicMs();
  const note = (results: (TaskResult | Error)[]): void => {
    const seconds = (systemClock.monotonicMs() - startedMs) / 1_000;
    const endedAt = new Date(startedAt.getTime() + seconds * 1_000);
    tasks.forEach((task, i) => {
      const outcome = outcomeOf(results[i] as TaskResult | Error);
      watching.metrics.count('pedigree_tasks_done_total', { kind: task.kind, result: outcome.kind });
      watching.metrics.observe('pedigree_task_seconds', { kind: task.kind }, seconds);
      const step = stepOf(task, outcome, { startedAt, endedAt });
      if (step !== undefined) watching.tracing.step(step);
    });
  };
  try {
    const results = await work();
    note(results);
    return results;
  } catch (error) {
    note(tasks.map(() => error as Error));
    throw error;
  }
}

const outcomeOf = (result: TaskResult | Error): Outcome =>
  result instanceof Error ? { kind: 'threw', error: result.message } : result;

/** A look that found nothing new is no step; neither is work that concerns no document. */
function stepOf(task: Task, outcome: Outcome, times: { startedAt: Date; endedAt: Date }): Step | undefined {
  const { registration = task.payload, account } = task.payload as {
    registration?: { requestId?: unknown };
    account?: unknown;
  };
  const { requestId } = registration as { requestId?: unknown };
  const error = 'error' in outcome ? outcome.error : undefined;
  if (typeof requestId !== 'string' || (outcome.kind === 'retry' && error === undefined)) return undefined;
  return {
    requestId,
    name: task.kind,
    key: `${task.key} ${task.attempts}`,
    ...times,
    kind: callsTheRegistry(task) ? 'client' : 'internal',
    attributes: {
      'pedigree.attempt': task.attempts,
      'pedigree.result': outcome.kind,
      ...(typeof account === 'string' ? { 'pedigree.account': account } : {}),
    },
    ...defined({ error }),
  };
}

/** Registry calls queue in lanes named `<account>/<method>`, internal work in lanes of one word. */
const callsTheRegistry = ({ lane }: Task): boolean => lane.includes('/');
