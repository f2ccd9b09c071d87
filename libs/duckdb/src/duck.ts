import type { DuckDBConnection, DuckDBInstance, DuckDBType, DuckDBVector } from '@duckdb/node-api';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

export interface DuckOptions {
  /** Most that DuckDB may hold in memory; what does not fit goes to `temporary`. The process has some 100 MB more. */
  memoryMb: number;
  threads: number;
  /**
   * In this folder a job makes one of its own, for what does not fit, and removes it at its end. What a killed process
   * has left there goes after a day.
   */
  temporary: string;
}

/** Some rows of an answer, column by column as DuckDB has them. A NULL may be any number here. */
interface Rows {
  count: number;
  ids(column: number): BigUint64Array;
  integers(column: number): Int32Array;
  doubles(column: number): Float64Array;
}

/** A column of ids or of whole numbers. */
type NumberColumn = BigUint64Array | Int32Array;
/** Or of words: the type of the column has the same, in their order. */
type Column = NumberColumn | { words: readonly string[]; codes: Int32Array };

const JOB = 'pedigree-job-';
/** A job that has not written for so long is one of a process that was killed. */
const LEFT_OVER_MS = 86_400_000;

async function removeLeftOver(parent: string): Promise<void> {
  for (const name of (await readdir(parent)).filter((one) => one.startsWith(JOB))) {
    const path = join(parent, name);
    // Another process may remove it too, and one of another user must.
    const changedMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? Infinity;
    if (changedMs < Date.now() - LEFT_OVER_MS) await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

const KEEP_ORDER = 'SET SESSION preserve_insertion_order = true';
const LEAVE_ORDER = 'SET SESSION preserve_insertion_order = false';

/** Rows that a chunk holds at most. */
const CHUNK_ROWS = 2_048;
const CHUNKS_AT_ONCE = 32;

/** A DuckDB in memory, for one job. */
export class Duck {
  private constructor(
    /** Loaded at the first job: most programs that may want one never do. */
    private readonly library: typeof import('@duckdb/node-api'),
    private readonly instance: DuckDBInstance,
    private readonly connection: DuckDBConnection,
    /** The job's own folder. */
    readonly temporary: string,
    private readonly threads: number,
  ) {}

  static async open({ memoryMb, threads, temporary: parent }: DuckOptions): Promise<Duck> {
    await mkdir(parent, { recursive: true });
    await removeLeftOver(parent);
    const temporary = await mkdtemp(join(parent, JOB));
    const library = await import('@duckdb/node-api');
    const instance = await library.DuckDBInstance.create(':memory:', {
      memory_limit: `${memoryMb}MB`,
      threads: String(threads),
      temp_directory: temporary,
      preserve_insertion_order: 'false',
      // Nothing is fetched from outside, whatever a query names.
      autoinstall_known_extensions: 'false',
    });
    const connection = await instance.connect();
    // An instant as text, or its day, is the same on each machine.
    await connection.run("SET GLOBAL TimeZone = 'UTC'");
    return new Duck(library, instance, connection, temporary, threads);
  }

  /** Runs statements for what they do. */
  async run(sql: string): Promise<void> {
    await this.connection.run(sql);
  }

  /** Runs a statement whose rows stay in the order of its query, or of the one sorted file that it reads. */
  async inOrder(sql: string): Promise<void> {
    try {
      await this.run(`${KEEP_ORDER}; ${sql}`);
    } finally {
      await this.run(LEAVE_ORDER);
    }
  }

  /** Does work on a connection of its own, within the same limits. Its temporary tables are its own. */
  async beside<T>(work: (duck: Duck) => Promise<T>): Promise<T> {
    const connection = await this.instance.connect();
    try {
      return await work(new Duck(this.library, this.instance, connection, this.temporary, this.threads));
    } finally {
      connection.closeSync();
    }
  }

  /**
   * Does so many pieces of work, each on the connection of one of some lanes. All lanes have ended before a failure of
   * one is told, for the caller removes what they use; after a failure none begins another piece. Each lane brings a
   * thread, so that DuckDB keeps that many fewer of its own: a thread whose query has all its work taken by others does
   * not sleep until they end, and takes the processor from them.
   */
  inLanes(lanes: number, pieces: number, work: Work<number>): Promise<void> {
    return this.takenInLanes(lanes, numbers(pieces), work);
  }

  /** The same for pieces that come one after the other: the lane that is free takes the next. */
  async takenInLanes<Piece>(lanes: number, pieces: AsyncGenerator<Piece>, work: Work<Piece>): Promise<void> {
    const lane = async (duck: Duck, n: number): Promise<void> => {
      // A failure ends the pieces, and with them the other lanes.
      for await (const piece of pieces) await work(duck, piece, n);
    };
    await this.run(`SET threads = ${Math.max(1, this.threads + 1 - lanes)}`);
    const all = Array.from({ length: lanes }, (_, n) => this.beside((duck) => lane(duck, n)));
    const ends = await Promise.allSettled(all);
    await this.run(`SET threads = ${this.threads}`);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** The rows of a small answer. BIGINT comes as bigint. */
  async rows<Row>(sql: string): Promise<Row[]> {
    return (await this.connection.runAndReadAll(sql)).getRowObjectsJS() as Row[];
  }

  /**
   * The rows of an answer of numbers in its order, some thousand at a time: UBIGINT, INTEGER and DOUBLE alone. DuckDB
   * has worked out the whole answer before, on its own threads: a streamed one, by the thread that fetches. So a chunk
   * is taken in place: asking for each would take a turn of another thread.
   */
  async *numbers(sql: string): AsyncIterable<Rows> {
    await this.run(KEEP_ORDER);
    const result = await this.connection.run(sql);
    await this.run(LEAVE_ORDER);
    const { chunkCount } = result;
    for (let n = 0; n < chunkCount; n += 1) {
      // What was taken is let go of between turns of the program.
      if (n % CHUNKS_AT_ONCE === CHUNKS_AT_ONCE - 1) await setImmediate();
      const chunk = result.getChunk(n);
      const items = <Items>(column: number): Items => (chunk.getColumnVector(column) as Vector<Items>).items;
      yield { count: chunk.rowCount, ids: items, integers: items, doubles: items };
    }
  }

  /** Adds the first `count` rows of columns to a temporary table that has such columns. */
  async append(table: string, columns: readonly Column[], count: number): Promise<void> {
    const { DuckDBDataChunk, ENUM32, INTEGER, UBIGINT } = this.library;
    const types = columns.map((column): DuckDBType => {
      if ('words' in column) return ENUM32([...column.words]);
      return column instanceof Int32Array ? INTEGER : UBIGINT;
    });
    const appender = await this.connection.createAppender(table, 'main', 'temp');
    const chunk = DuckDBDataChunk.create(types);
    for (let from = 0; from < count; from += CHUNK_ROWS) {
      const to = Math.min(count, from + CHUNK_ROWS);
      if (chunk.rowCount !== to - from) chunk.rowCount = to - from;
      columns.forEach((column, n) => {
        const vector = chunk.getColumnVector(n) as Vector<{ set(values: NumberColumn): void }>;
        vector.items.set(('words' in column ? column.codes : column).subarray(from, to));
        vector.flush();
      });
      appender.appendDataChunk(chunk);
    }
    appender.closeSync();
  }

  async close(): Promise<void> {
    this.connection.closeSync();
    this.instance.closeSync();
    await rm(this.temporary, { recursive: true, force: true });
  }
}

type Work<Piece> = (duck: Duck, piece: Piece, lane: number) => Promise<void>;

// Asynchronous because a generator of this kind may be shared by lanes that wait for it.
async function* numbers(count: number): AsyncGenerator<number> {
  for (let n = 0; n < count; n += 1) yield Promise.resolve(n);
}

/** Vectors of numbers have their values as they lie in memory. */
type Vector<Items> = DuckDBVector & { items: Items };

/** A text as a literal of SQL. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
/** Texts as a list for IN. */
export const listed = (texts: readonly string[]): string => `(${texts.map(quoted).join(', ')})`;
/** A table function over Parquet files; there must be one at least. */
export const parquet = (files: readonly string[]): string => `read_parquet([${files.map(quoted).join(', ')}])`;
