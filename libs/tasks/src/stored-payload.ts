import type { z } from 'zod';
import type { TaskHandler } from './lane-runner.js';
import type { Task, TaskResult } from './port.js';

/** What the payload of each kind holds, as zod schemas. */
type PayloadSchemas = Record<string, z.ZodType<object>>;

/** Handlers of some of these kinds, each given the payload of its kind. */
export type HandlersOf<Schemas extends PayloadSchemas> = {
  [Kind in keyof Schemas]?: TaskHandler<z.output<Schemas[Kind]>>;
};

/**
 * The same handlers, given only tasks whose stored payload holds what its kind says. One that does not is given up at
 * once, with its place: no repetition mends it, and whoever does may have it tried again. What a payload holds beside
 * that is left as it is.
 */
export function checkingPayloads<Schemas extends PayloadSchemas>(
  schemas: Schemas,
  handlers: HandlersOf<Schemas>,
): Record<string, TaskHandler> {
  return Object.fromEntries(
    Object.entries(handlers as Record<string, TaskHandler>).map(([kind, handler]) => [
      kind,
      checked(schemas[kind] as z.ZodType, handler),
    ]),
  );
}

function checked(schema: z.ZodType, handler: TaskHandler): TaskHandler {
  if ('handle' in handler)
    return {
      handle: async (task, context) => misfitOf(schema, task) ?? handler.handle(task, context),
    };
  return {
    ...handler,
    handleMany: async (tasks, context) => {
      const misfits = tasks.map((task) => misfitOf(schema, task));
      if (misfits.every((one) => one === undefined)) return handler.handleMany(tasks, context);
      const fit = tasks.filter((_, i) => misfits[i] === undefined);
      const results = fit.length === 0 ? [] : await handler.handleMany(fit, context);
      return misfits.map((misfit) => misfit ?? (results.shift() as TaskResult | Error));
    },
  };
}

function misfitOf(schema: z.ZodType, { key, kind, payload }: Task): TaskResult | undefined {
  const read = schema.safeParse(payload);
  if (read.success) return undefined;
  const { path, message } = deepest(read.error.issues);
  return { kind: 'failed', error: `task ${key} of kind ${kind}: ${['payload', ...path].join('.')}: ${message}` };
}

type Issue = z.core.$ZodIssue;

/** Of the alternatives of a union the one that fits furthest tells most. */
function deepest(issues: Issue[]): Pick<Issue, 'path' | 'message'> {
  const places = issues.map((issue) => {
    if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue;
    const { path, message } = deepest(issue.errors.flat());
    return { path: [...issue.path, ...path], message };
  });
  return places.reduce((best, one) => (one.path.length > best.path.length ? one : best));
}
