/** `documentSha256` as the API writes it: `document_sha256`. */
type SnakeName<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeName<Tail>}`
  : S;

/** The same value with the API's names. */
export type Snake<T> = T extends readonly (infer Item)[]
  ? Snake<Item>[]
  : T extends object
    ? object extends T
      ? Record<string, unknown>
      : { [K in keyof T as K extends string ? SnakeName<K> : K]: Snake<T[K]> }
    : T;

const snakeNames = new Map<string, string>();
const camelNames = new Map<string, string>();

/** Field names are few, and no input makes them: each is worked out once. */
function renamed(value: unknown, names: Map<string, string>, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, names, rename));
  if (typeof value !== 'object' || value === null) return value;
  const result: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const known = names.get(name) ?? rename(name);
    names.set(name, known);
    result[known] = renamed(member, names, rename);
  }
  return result;
}

/**
 * Our own names are in camel case, those of the API in snake case, as in the commands that it takes: this is the one
 * place where they meet.
 */
export const snakeCase = <T>(value: T): Snake<T> =>
  renamed(value, snakeNames, (name) => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)) as Snake<T>;

/** The way back, for our own clients of the API. */
export const camelCase = <T>(value: Snake<T>): T =>
  renamed(value, camelNames, (name) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())) as T;
