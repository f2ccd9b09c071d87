import { copyLines, copyText, type Queryable, type Transaction } from '#postgres';
import { Column, getMetadataArgsStorage, type ColumnOptions } from './entity.js';

/** What each SQL type is in a row: as pg reads it, or as a bulk write may give it. */
interface SqlTypes {
  text: string;
  uuid: string;
  bigint: bigint;
  integer: number;
  smallint: number;
  boolean: boolean;
  jsonb: object;
  /** YYYY-MM-DD. */
  date: string;
  timestamptz: Date | string;
}

type Value<Type extends keyof SqlTypes, Nullable> = SqlTypes[Type] | (Nullable extends true ? null | undefined : never);
/** Without a NULL among its values a property fits no nullable column. */
type Fits<Given, Nullable> = Nullable extends true
  ? [Extract<Given, null | undefined>] extends [never]
    ? never
    : unknown
  : unknown;

/**
 * TypeORM's column, where the compiler compares the property with the SQL type and with `nullable`. `update: false`: it
 * is written with the row and never again. `insert: false`: it is not written with the row.
 */
export const column =
  <Type extends keyof SqlTypes, Nullable extends boolean = false>(
    type: Type,
    options: Pick<ColumnOptions, 'primary' | 'update' | 'insert'> & { nullable?: Nullable } = {},
  ) =>
  <Property extends string, Row extends { [P in Property]?: Value<Type, Nullable> }>(
    row: Row & Fits<Row[Property], Nullable>,
    property: Property,
  ): void =>
    Column({ ...options, type })(row, property);

/** A column of a table, as its entity declares it. */
interface TableColumn {
  property: string;
  name: string;
  type: string;
  isNullable: boolean;
  isKey: boolean;
  isWritten: boolean;
  isUpdated: boolean;
}

type Nulls<Row> = { [K in keyof Row as null extends Row[K] ? K : never]: null };

const snakeName = (property: string): string => property.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

/** The columns of an entity, read from the metadata that TypeORM's decorators leave: that needs no connection. */
function columnsOf(entity: object): TableColumn[] {
  const own = getMetadataArgsStorage().columns.filter(({ target }) => target === entity);
  return own.map(({ propertyName: property, options }) => {
    const { type, nullable = false, primary = false, insert = true, update = true } = options;
    return {
      property,
      name: snakeName(property),
      type: String(type),
      isNullable: nullable,
      isKey: primary,
      isWritten: insert,
      isUpdated: insert && update && !primary,
    };
  });
}

/** As `JSON.stringify` writes half of a surrogate pair; what stands before it are pairs of backslashes. */
const HALF_PAIR = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/**
 * As `jsonb` takes it. It refuses half of a surrogate pair, and one such value in the log would hold up its table for
 * ever: it becomes the replacement character, as in a column of text.
 */
function jsonOf(value: unknown): string | undefined {
  const text = JSON.stringify(value) as string | undefined;
  return text?.includes('\\ud') === true ? text.replace(HALF_PAIR, '$1\ufffd') : text;
}

/**
 * The table of an entity, with every statement that names its columns. The entity is the one definition of the row: the
 * class is its type, the decorators are its columns. Texts are constant, so that each is prepared once for a
 * connection.
 */
export class Table<Row extends object> {
  readonly name: string;
  readonly columns: TableColumn[];
  /** The columns that are written with the row: their names, and an array of each, $1 and on, for `unnest`. */
  readonly names: string;
  readonly arrays: string;
  /** What a new row has where a column may be NULL. */
  readonly nulls: Nulls<Row>;
  /** What makes a row whose key is there already take the place of the old one; empty where no column is updated. */
  readonly onConflict: string;
  private readonly written: (TableColumn & { property: string & keyof Row })[];
  private readonly properties: (string & keyof Row)[];
  private readonly key: string;
  private readonly insertText: string;

  constructor(entity: new () => Row) {
    const name = getMetadataArgsStorage().tables.find(({ target }) => target === entity)?.name;
    if (name === undefined) throw new Error(`${entity.name} names no table`);
    this.name = name;
    this.columns = columnsOf(entity);
    const nullable = this.columns.filter(({ isNullable }) => isNullable);
    this.nulls = Object.fromEntries(nullable.map(({ property }) => [property, null])) as Nulls<Row>;
    this.written = this.columns.filter(({ isWritten }) => isWritten) as typeof this.written;
    this.properties = this.written.map(({ property }) => property);
    this.names = this.written.map((one) => one.name).join(', ');
    this.arrays = this.written.map(({ type }, i) => `$${i + 1}::${type}[]`).join(', ');
    this.key = this.columns.flatMap((one) => (one.isKey ? [one.name] : [])).join(', ');
    const updates = this.columns.flatMap((one) => (one.isUpdated ? [`${one.name} = excluded.${one.name}`] : []));
    this.onConflict = updates.length === 0 ? '' : `ON CONFLICT (${this.key}) DO UPDATE SET ${updates.join(', ')}`;
    this.insertText = `INSERT INTO ${name} (${this.names}) SELECT * FROM unnest(${this.arrays})`;
  }

  /** For SELECT: each column under its property's name. Default: all columns. */
  select({ of, only }: { of?: string; only?: readonly (keyof Row)[] } = {}): string {
    return this.columns
      .filter(({ property }) => only?.includes(property as keyof Row) ?? true)
      .map(({ name, property }) => `${of === undefined ? '' : `${of}.`}${name} AS "${property}"`)
      .join(', ');
  }

  /** The column that a property stands for. */
  nameOf(property: keyof Row): string {
    const found = this.columns.find((one) => one.property === property);
    if (found === undefined) throw new Error(`${this.name} has no column for ${String(property)}`);
    return found.name;
  }

  /** The rows with these keys, by key. For tables whose key is one column of text. */
  async load(db: Queryable, keys: string[]): Promise<Map<string, Row>> {
    const { rows } = await db.query<Row>({
      name: `${this.name}-load`,
      text: `SELECT ${this.select()} FROM ${this.name} WHERE ${this.key} = ANY($1::text[])`,
      values: [keys],
    });
    const property = this.columns.find(({ isKey }) => isKey)?.property as keyof Row;
    return new Map(rows.map((row) => [String(row[property]), row]));
  }

  /** Values for `arrays`: one array a column. */
  values(rows: readonly Partial<Row>[]): unknown[][] {
    return this.written.map(({ property, type }) =>
      rows.map((row) => (type === 'jsonb' ? jsonOf(row[property]) : row[property])),
    );
  }

  /**
   * Writes rows in one statement. A row whose key is there already replaces the old one; where no column is ever
   * updated, that is an error.
   */
  async write(db: Queryable, rows: readonly Row[]): Promise<void> {
    if (rows.length > 0)
      await db.query({
        ...{ name: `${this.name}-write`, text: `${this.insertText} ${this.onConflict}`, values: this.values(rows) },
      });
  }

  /** Writes rows in one statement, but those whose key is there already. */
  async add(db: Queryable, rows: readonly Row[]): Promise<void> {
    if (rows.length > 0) await db.query(`${this.insertText} ON CONFLICT DO NOTHING`, this.values(rows));
  }

  /** Adds many rows by COPY. */
  copy(tx: Transaction, rows: readonly Row[]): Promise<void> {
    return this.copyLines(tx, this.lines(rows));
  }

  /** Rows as `copyLines` takes them, one after another. */
  lines(rows: readonly Row[]): string {
    return copyLines(this.properties, rows);
  }

  /** Adds rows that were made into lines before. */
  copyLines(tx: Transaction, lines: string): Promise<void> {
    return copyText(tx, `${this.name} (${this.names})`, lines);
  }
}
