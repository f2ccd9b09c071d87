/**
 * The shape of a value that came as JSON, written as with zod and read by few lines: the verifier within a page is this
 * source too, and an auditor may want to read all of it (decision 52).
 */
export class Shape<T> {
  constructor(private readonly read: (value: unknown, path: string[]) => T) {}

  /** Throws WrongShape. */
  parse(value: unknown, path: string[] = []): T {
    return this.read(value, path);
  }

  optional(): Optional<T> {
    return new Optional((value, path) => (value === undefined ? undefined : this.parse(value, path)));
  }

  protected and(holds: (value: T) => boolean, why: string): (value: unknown, path: string[]) => T {
    return (value, path) => {
      const read = this.parse(value, path);
      if (!holds(read)) throw new WrongShape(path, why);
      return read;
    };
  }
}

/** A value that is not of the shape: where, and what belongs there. */
export class WrongShape extends Error {
  override readonly name = 'WrongShape';

  constructor(
    readonly path: string[],
    message: string,
  ) {
    super(message);
  }
}

class Optional<T> extends Shape<T | undefined> {
  readonly isOptional = true;
}

class Sized<T extends { length: number }> extends Shape<T> {
  min(least: number): Sized<T> {
    return new Sized(this.and(({ length }) => length >= least, `is shorter than ${least}`));
  }

  max(most: number): Sized<T> {
    return new Sized(this.and(({ length }) => length <= most, `is longer than ${most}`));
  }
}

class Text extends Sized<string> {
  length(exact: number): Text {
    return new Text(this.and(({ length }) => length === exact, `is not ${exact} characters long`));
  }

  regex(pattern: RegExp): Text {
    return new Text(this.and((text) => pattern.test(text), `does not match ${pattern.source}`));
  }
}

class Whole extends Shape<number> {
  min(least: number): Whole {
    return new Whole(this.and((one) => one >= least, `is less than ${least}`));
  }
}

type Fields = Record<string, Shape<unknown>>;
type OptionalNames<F extends Fields> = {
  [Name in keyof F]: F[Name] extends { isOptional: true } ? Name : never;
}[keyof F];
type Shaped<F extends Fields> = { [Name in Exclude<keyof F, OptionalNames<F>>]: Infer<F[Name]> } & {
  [Name in OptionalNames<F>]?: Infer<F[Name]>;
};

/** What a shape reads. */
type Infer<S> = S extends Shape<infer T> ? T : never;
export type { Infer as infer };

const ofType = <T>(is: (value: unknown) => value is T, what: string) => {
  return (value: unknown, path: string[]): T => {
    if (!is(value)) throw new WrongShape(path, `is not ${what}`);
    return value;
  };
};
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const string = (): Text => new Text(ofType((value) => typeof value === 'string', 'a text'));
/** A whole number, exact in a double. */
export const int = (): Whole =>
  new Whole(ofType((value): value is number => Number.isSafeInteger(value), 'a whole number'));
export const unknown = (): Shape<unknown> => new Shape((value) => value);
export const literal = <const T extends string>(text: T): Shape<T> =>
  new Shape(ofType((value): value is T => value === text, JSON.stringify(text)));

export const array = <T>(item: Shape<T>): Sized<T[]> =>
  new Sized((value, path) => {
    if (!Array.isArray(value)) throw new WrongShape(path, 'is not a list');
    return value.map((one, index) => item.parse(one, [...path, String(index)]));
  });

/** An object that has these names and no other. */
export const strictObject = <F extends Fields>(fields: F): Shape<Shaped<F>> =>
  new Shape((value, path) => {
    if (!isRecord(value)) throw new WrongShape(path, 'is not an object');
    for (const name of Object.keys(value))
      if (!Object.hasOwn(fields, name))
        throw new WrongShape(path, `has ${JSON.stringify(name)}, which is unknown here`);
    for (const [name, shape] of Object.entries(fields)) shape.parse(value[name], [...path, name]);
    return value as Shaped<F>;
  });
