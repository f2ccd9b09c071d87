import { z } from 'zod';
import { refuse } from '../http/refusal.js';

/** The body of an order of the control port. Throws a 400 that says what is wrong. */
export function parse<Shape extends z.ZodType>(shape: Shape, body: unknown): z.infer<Shape> {
  const parsed = shape.safeParse(body);
  if (!parsed.success) throw refuse(400, z.prettifyError(parsed.error));
  return parsed.data;
}
