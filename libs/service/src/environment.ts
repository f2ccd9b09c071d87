import type { z } from 'zod';
import { PedigreeError } from '#kernel';

/** A program's variables, read by its schema. @throws PedigreeError `invalid_configuration` that names the first variable at fault. */
export function parseEnvironment<Schema extends z.ZodType>(schema: Schema, env: NodeJS.ProcessEnv): z.output<Schema> {
  const parsed = schema.safeParse(env);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalid(String(issue?.path[0] ?? ''), issue?.message ?? 'invalid');
}

/** What a variable says, or what it points to. @throws PedigreeError `invalid_configuration`: the variable's name, and whatever was wrong. */
export function readVariable<T>(variable: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalid(variable, (error as Error).message);
  }
}

const invalid = (field: string, message: string): PedigreeError => new PedigreeError('invalid_configuration', `${field}: ${message}`, { field });
