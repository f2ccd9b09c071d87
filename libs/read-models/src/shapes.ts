import { z } from 'zod';
import { DOCUMENT_OUTCOMES, FAILURE_CAUSES, HALT_CAUSES, INBOUND_CHANNELS, REGISTRY_STATUSES } from '#domain';

/** Parts of the shapes in which read models are told: in the API's answers, and to the ERP. Names as in the API. */

export const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
export const instant = z.iso.datetime();
export const position = z.string().regex(/^\d+$/).describe('Log position');
export const requestId = z.uuid();
export const whole = z.number().int();

export const documentOutcome = z.enum(DOCUMENT_OUTCOMES);
export const failureCause = z.enum(FAILURE_CAUSES);
export const haltCause = z.enum(HALT_CAUSES);
export const registryStatus = z.enum(REGISTRY_STATUSES);
export const inboundChannel = z.enum(INBOUND_CHANNELS);
/** `registry_answer`: no document, but the registry's answer about what lies in a container. */
export const movementChannel = z.enum([...INBOUND_CHANNELS, 'registry_answer']);

export const receiptErrors = z
  .array(z.strictObject({ code: z.string(), text: z.string(), object_id: z.string().optional() }))
  .describe("The receipt's errors, per item where it names one.");

/** Another document of ours. */
export const reference = z.strictObject({ command_id: z.string(), request_id: requestId });

/** What an object says of what it stands for. */
export const words = {
  sentence: z.string().describe('What the state means.'),
  remedy: z.string().optional().describe('What to do.'),
};

export const nextCursor = z.string().optional().describe('Absent on the last page.');
export const pageShape = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ items: z.array(item), next_cursor: nextCursor });

type CamelName<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelName<Tail>>}`
  : S;

/** What a shape tells, under our own names. */
export type Shown<Shape extends z.ZodType> = Camel<z.infer<Shape>>;

type Camel<T> = T extends readonly (infer Item)[]
  ? Camel<Item>[]
  : T extends object
    ? string extends keyof T
      ? T
      : { [K in keyof T as K extends string ? CamelName<K> : K]: Camel<Exclude<T[K], undefined>> }
    : T;

const camelName = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const asTold = (value: unknown): unknown => {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'bigint' ? String(value) : value;
};

/**
 * What a row says of the fields of a shape, under our own names: NULL is left out, an instant and a position are text.
 */
export function fieldsOf<Shape extends z.ZodObject>(shape: Shape) {
  const properties = Object.keys(shape.shape).map(camelName);
  return <Row extends object>(row: Row): Pick<Shown<Shape>, keyof Shown<Shape> & keyof Row> => {
    const given = row as Record<string, unknown>;
    const fields: Record<string, unknown> = {};
    for (const property of properties) {
      const value = given[property];
      if (value !== null && value !== undefined) fields[property] = asTold(value);
    }
    return fields as Shown<Shape>;
  };
}
