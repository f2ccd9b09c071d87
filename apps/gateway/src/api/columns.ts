/** What a field of a list may say where a person reads it as a table. */
export type Cell = string | number | boolean | undefined;

/** The columns of a list, in their order: the name of each, and what a row says of it. */
export type Columns<T> = Record<string, (row: T) => Cell>;

type CellName<T> = { [Name in keyof T]-?: T[Name] extends Cell ? Name : never }[keyof T] & string;

/** Columns that have the names of a row's own properties. */
export const columnsOf = <T>(...names: CellName<T>[]): Columns<T> =>
  Object.fromEntries(names.map((name) => [name, (row: T) => row[name] as Cell]));

/** Columns of a part of a row, the part's name before each: `told_by_known_at`. */
export const columnsWithin = <T, Part>(
  name: string,
  partOf: (row: T) => Part | undefined,
  columns: Columns<Part>,
): Columns<T> =>
  Object.fromEntries(
    Object.entries(columns).map(([column, valueOf]) => [
      `${name}_${column}`,
      (row: T) => {
        const part = partOf(row);
        return part === undefined ? undefined : valueOf(part);
      },
    ]),
  );
