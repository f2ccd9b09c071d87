import type { PayloadOf, Registration } from '#domain';
import { logIsAway } from '#event-store';
import { stretchesOf } from '#kernel';
import type { TaskResult } from '#tasks';
import type { Claim, TaskOf } from '../lane.js';
import { causeOf, type TaskContext } from './context.js';

/**
 * Runs accepted commands: their documents come into being in the log (principles 3.1), in the order of the tasks. A
 * group begins when all before it are there, and those behind it begin when it is.
 */
export async function runCommands(
  context: TaskContext,
  tasks: TaskOf<'run_command'>[],
): Promise<(TaskResult | Error)[]> {
  const results: (TaskResult | Error)[] = [];
  for (const together of stretchesOf(tasks, ({ payload }) => 'group' in payload)) {
    // What is appended in one turn gets its place in the log in that order.
    const settled = await Promise.allSettled(together.map((task) => runCommand(context, task)));
    results.push(...settled.map((one) => (one.status === 'fulfilled' ? one.value : asError(one.reason))));
    const away = results.find((one, i) => tasks[i]?.attempts === 1 && one instanceof Error && logIsAway(one));
    // What is behind would go ahead of what could not be appended. One that was tried before has lost its place: it may
    // be at fault itself.
    if (away !== undefined) return [...results, ...tasks.slice(results.length).map(() => away)];
  }
  return results;
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

async function runCommand(context: TaskContext, task: TaskOf<'run_command'>): Promise<TaskResult> {
  const { payload } = task;
  if ('group' in payload) return runGroupCommand(context, task, payload);
  const { registration, actor, reason } = payload;
  const cause = { ...causeOf(task, actor), reason };
  const { requestId, commandId, resendOf } = registration;
  await context.documents.execute(requestId, { type: 'Register', registration }, cause);
  if (resendOf !== undefined)
    await context.documents.execute(resendOf.requestId, { type: 'NoteResent', by: { commandId, requestId } }, cause);
  return { kind: 'done' };
}

/** Most members that come into being at once. */
const MEMBERS_AT_ONCE = 20;

/**
 * The members come into being before their group, so that whatever the group's first event sets going finds them. Each
 * step says nothing new when it is done again.
 */
async function runGroupCommand(
  context: TaskContext,
  task: Claim,
  { group, actor, reason }: Extract<PayloadOf<'run_command'>, { group: object }>,
): Promise<TaskResult> {
  const cause = { ...causeOf(task, actor), reason };
  const all = async (work: (member: Registration) => Promise<unknown>): Promise<void> => {
    for (let from = 0; from < group.members.length; from += MEMBERS_AT_ONCE)
      await Promise.all(group.members.slice(from, from + MEMBERS_AT_ONCE).map(work));
  };
  await all((registration) =>
    context.documents.execute(registration.requestId, { type: 'Register', registration }, cause),
  );
  await context.groups.execute(group.groupId, { type: 'Register', registration: group }, cause);
  const { groupId, resumes } = group;
  if (resumes === undefined) return { kind: 'done' };
  await context.groups.execute(
    resumes.groupId,
    { type: 'NoteResumption', by: { groupId, commandId: group.commandId } },
    cause,
  );
  await all(async ({ supersedes, commandId, requestId }) => {
    if (supersedes === undefined) return;
    await context.documents.execute(
      supersedes.requestId,
      { type: 'NoteSuperseded', by: { commandId, requestId }, groupId },
      cause,
    );
  });
  return { kind: 'done' };
}
