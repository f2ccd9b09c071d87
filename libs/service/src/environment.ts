import type { z } from 'zod';
import { invalidConfiguration, PedigreeError, PLAIN_WORDS } from '#kernel';

/** A variable of a program's environment. */
export interface Variable {
  name: string;
  isRequired: boolean;
}

export const variablesOf = (schema: z.ZodObject): Variable[] =>
  Object.entries(schema.shape).map(([name, one]) => ({ name, isRequired: !one.safeParse(undefined).success }));

/**
 * A program's variables, read by its schema. @throws PedigreeError `invalid_configuration` that names every variable at
 * fault.
 */
export function parseEnvironment<Schema extends z.ZodObject>(schema: Schema, env: NodeJS.ProcessEnv): z.output<Schema> {
  const parsed = schema.safeParse(env, PLAIN_WORDS);
  const faults = numbersNotWritten(schema, env);
  if (parsed.success && faults.size === 0) return parsed.data;
  for (const { path, message } of parsed.error?.issues ?? []) {
    const name = String(path[0] ?? '');
    if (!faults.has(name)) faults.set(name, name !== '' && env[name] === undefined ? 'must be set' : message);
  }
  const [first = ''] = faults.keys();
  throw new PedigreeError(
    'invalid_configuration',
    [...faults].map(([name, message]) => `${name}: ${message}`).join('; '),
    { field: first },
  );
}

const WRITTEN_NUMBER = /^\s*[+-]?(\d+\.?\d*|\.\d+)\s*$/;

/**
 * Numbers that nobody has written: coercion takes an empty text for 0, which switches things off or makes them wait for
 * nothing, and reads 0x50 and 1e3.
 */
function numbersNotWritten({ shape }: z.ZodObject, env: NodeJS.ProcessEnv): Map<string, string> {
  const faults = new Map<string, string>();
  for (const [name, one] of Object.entries(shape)) {
    const text = env[name];
    // A word such as `off`, which a schema may make a number of, is none to coercion.
    if (text === undefined || WRITTEN_NUMBER.test(text) || Number.isNaN(Number(text))) continue;
    if (typeof one.safeParse(text).data !== 'number') continue;
    faults.set(name, text.trim() === '' ? 'must not be empty' : 'must be a number');
  }
  return faults;
}

/**
 * What a variable says, or what it points to. @throws PedigreeError `invalid_configuration`: the variable's name, and
 * whatever was wrong.
 */
export function readVariable<T>(variable: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalidConfiguration(variable, (error as Error).message);
  }
}
