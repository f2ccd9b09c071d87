// Left to the soak: every write is cut, one after the other. `npm test` has the crash points of the worker.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { requestIdOf, sha256Hex, systemClock } from '#kernel';
import { installationId } from '#postgres';
import { arrival } from '../bench/load.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 180_000;
const ACCOUNTS = ['main', 'north', 'south', 'retail'];
const RULES = { unknownGraceMs: 4_000, requestTimeoutMs: 5_000 };

/** `fails`: the write is not done. `says so`: it is done, and whoever asked for it is told that it failed. */
type Fault = 'fails' | 'is done and reports failure';
const FAULTS: Fault[] = ['fails', 'is done and reports failure'];

interface DocumentOfRow {
  requestId: string;
  xml: string;
}

/**
 * One durable step. Its write is found by its text and by what it carries; `transaction`: it counts with the commit
 * that follows.
 */
interface Step {
  step: string;
  write: string;
  sql?: RegExp;
  carries?: (of: DocumentOfRow) => (string | Buffer)[];
  transaction?: true;
  /** Struck only after a write that carries this was seen. */
  after?: (of: DocumentOfRow) => (string | Buffer)[];
  /** Struck at the registry instead, by this operation. */
  operation?: 'send' | 'receipt';
}

const APPEND = /append_events/;
const appends = (type: string) => ({
  sql: APPEND,
  carries: ({ requestId }: DocumentOfRow) => [`document-${requestId}`, type],
});
const appended =
  (type: string) =>
  ({ requestId }: DocumentOfRow): string[] => [`document-${requestId}`, type];

/** docs/reliability.md shows this table. */
const STEPS: Step[] = [
  {
    step: 'evidence',
    write: 'bytes of the document',
    sql: /INSERT INTO evidence/,
    carries: ({ xml }) => [Buffer.from(sha256Hex(Buffer.from(xml)), 'hex')],
  },
  {
    step: 'intake',
    write: 'command and its task, one commit',
    sql: /INSERT INTO command \(/,
    carries: ({ requestId }) => [requestId],
    transaction: true,
  },
  { step: 'append', write: 'DocumentRegistered', ...appends('DocumentRegistered') },
  {
    step: 'task',
    write: 'tasks and state of the saga, one commit',
    sql: /INSERT INTO task_key/,
    carries: ({ requestId }) => [`send:${requestId}:1`],
    transaction: true,
  },
  {
    step: 'checkpoint',
    write: 'position of the saga, one commit',
    sql: /UPDATE checkpoint SET position/,
    carries: () => ['saga:document'],
    after: appended('DocumentRegistered'),
    transaction: true,
  },
  { step: 'intent', write: 'SendAttempted', ...appends('SendAttempted') },
  { step: 'send', write: 'the document at the registry', operation: 'send' },
  { step: 'answer', write: 'DocumentSent', ...appends('DocumentSent') },
  {
    step: 'task done',
    write: 'the task is taken off',
    sql: /DELETE FROM task t/,
    carries: () => [],
    after: appended('DocumentSent'),
  },
  { step: 'status', write: 'StatusObserved', ...appends('StatusObserved') },
  { step: 'receipt', write: 'the receipt at the registry', operation: 'receipt' },
  {
    step: 'receipt kept',
    write: 'bytes of a receipt',
    sql: /INSERT INTO evidence/,
    carries: () => ['application/xml'],
    after: appended('StatusObserved'),
  },
  { step: 'conclusion', write: 'ReceiptStored and DocumentConcluded, one append', ...appends('ReceiptStored') },
  {
    step: 'outbox',
    write: 'outcome and position of the outbox, one commit',
    sql: /INSERT INTO outcome_event/,
    carries: ({ requestId }) => [requestId],
    transaction: true,
  },
];

interface Row extends DocumentOfRow {
  step: Step;
  fault: Fault;
  commandId: string;
  seen: boolean;
  struck: boolean;
}

/** Whether every needle is somewhere in the values of a statement. */
function carries(values: unknown, needles: (string | Buffer)[]): boolean {
  const texts: (string | Buffer)[] = [];
  const walk = (value: unknown): void => {
    if (typeof value === 'string' || Buffer.isBuffer(value)) texts.push(value);
    else if (Array.isArray(value)) value.forEach(walk);
    else if (ArrayBuffer.isView(value)) texts.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
  };
  walk(values);
  return needles.every((needle) =>
    texts.some((text) =>
      typeof text === 'string' ? typeof needle === 'string' && text.includes(needle) : text.includes(needle),
    ),
  );
}

type Query = (...args: unknown[]) => unknown;
interface Client {
  database?: string;
  connection: { stream: { destroy(error?: Error): void } };
  doomed?: Row | undefined;
}
const LOST = new Error('Connection terminated unexpectedly');

/** Sits between every client of one database and its server, and strikes each row's write once. */
function strikeOnce(rows: Row[], database: string): () => void {
  const prototype = pg.Client.prototype as unknown as { query: Query };
  const original = prototype.query;
  prototype.query = function query(this: Client, ...args: unknown[]): unknown {
    const run: Query = (...now) => original.apply(this, now);
    if (this.database !== database) return run(...args);
    const statement = statementOf(args);
    const { text } = statement;
    const row = text === 'COMMIT' ? this.doomed : rowStruckBy(rows, this, statement);
    if (text === 'COMMIT' || text === 'ROLLBACK') this.doomed = undefined;
    if (row === undefined) return run(...args);
    if (row.step.transaction === true && text !== 'COMMIT') {
      this.doomed = row;
      return run(...args);
    }
    row.struck = true;
    return row.fault === 'fails' ? refuse(this, run, args) : pretend(this, run, args);
  };
  return () => (prototype.query = original);
}

interface Statement {
  text: string;
  values: unknown;
}

function statementOf([first, second]: unknown[]): Statement {
  if (typeof first === 'string') return { text: first, values: second };
  const { text = '', values = second } = (first ?? {}) as Partial<Statement>;
  return { text, values };
}

function rowStruckBy(rows: Row[], { doomed }: Client, { text, values }: Statement): Row | undefined {
  // One fault a transaction: the rows of others that share it have their turn when it is made again.
  if (doomed !== undefined) return undefined;
  for (const row of rows)
    if (!row.seen && row.step.after !== undefined && APPEND.test(text) && carries(values, row.step.after(row)))
      row.seen = true;
  return rows.find(
    (row) =>
      !row.struck &&
      row.seen === (row.step.after !== undefined) &&
      row.step.sql?.test(text) === true &&
      carries(values, row.step.carries?.(row) ?? []),
  );
}

/** The connection is gone before the statement left. */
function refuse(client: Client, run: Query, args: unknown[]): unknown {
  client.connection.stream.destroy();
  return run(...args);
}

/** The statement is done, the connection gone before its answer. */
function pretend(client: Client, run: Query, args: unknown[]): unknown {
  const last = args.at(-1);
  const lose = (): void => client.connection.stream.destroy();
  if (typeof last === 'function') {
    return run(...args.slice(0, -1), () => {
      lose();
      (last as (error: Error) => void)(LOST);
    });
  }
  return (run(...args) as Promise<unknown>).then(() => {
    lose();
    throw LOST;
  });
}

let stack: Stack;
let rows: Row[];

/** Gives a command again until it is acknowledged, as an ERP does that got no answer. */
async function give(row: Row, n: number): Promise<void> {
  const command = JSON.stringify({ command_id: row.commandId, account: ACCOUNTS[n % ACCOUNTS.length], xml: row.xml });
  for (let tries = 0; tries < 50; tries += 1) {
    const taken = await stack.client.command(command).catch(() => undefined);
    if (taken !== undefined) return;
    await systemClock.wait(100);
  }
  throw new Error(`${row.commandId} was never acknowledged`);
}

beforeAll(async () => {
  stack = await startStack({ sandbox: { seed: 5, processingMs: 200 }, overrides: { rules: RULES } });
  const installation = await installationId(stack.db.pool);
  const world = readWorld(sandboxFile('data/world.json'));
  rows = STEPS.flatMap((step) => FAULTS.map((fault) => ({ step, fault }))).map((of, n) => {
    const commandId = `fault-${n}`;
    return {
      ...of,
      commandId,
      requestId: requestIdOf(installation, commandId),
      xml: arrival(world, n, 'FAULT').xml,
      seen: false,
      struck: false,
    };
  });
  for (const operation of ['send', 'receipt'])
    for (const fault of ['drop_connection_before_work', 'drop_connection_after_work'])
      await stack.control('/faults', { fault, method: operation, times: 1 });
  const restore = strikeOnce(rows, new URL(stack.db.url).pathname.slice(1));
  try {
    await Promise.all(rows.map(give));
    const told = async (): Promise<number> =>
      Number(
        (
          await stack.db.pool.query<{ n: bigint }>(
            `SELECT count(*) AS n FROM outcome_event WHERE type = 'pedigree.document.concluded.v1'`,
          )
        ).rows[0]?.n,
      );
    await until('the ERP is told of each', async () => (await told().catch(() => 0)) >= rows.length, LIMIT_MS);
  } finally {
    restore();
  }
}, LIMIT_MS + 60_000);

afterAll(() => stack?.stop());

describe('a durable step whose write goes wrong', () => {
  const table = STEPS.flatMap(({ step, write }) => FAULTS.map((fault) => ({ step, write, fault }))).map((row, n) => ({
    ...row,
    n,
  }));

  it.each(table)('$step ($write) that $fault: the document concludes once, and the ERP is told once', async ({ n }) => {
    const row = rows[n] as Row;
    if (row.step.operation === undefined) expect(row.struck).toBe(true);
    const { rows: types } = await stack.db.pool.query<{ type: string }>(
      'SELECT type FROM event WHERE stream = $1 ORDER BY version',
      [`document-${row.requestId}`],
    );
    expect(
      types.filter(({ type }) => type === 'DocumentConcluded' || type === 'DocumentRegistered').map(({ type }) => type),
    ).toEqual(['DocumentRegistered', 'DocumentConcluded']);
    const { rows: told } = await stack.db.pool.query<{ topic: string }>(
      'SELECT topic FROM outcome_event WHERE subject = $1',
      [row.requestId],
    );
    expect(told.map(({ topic }) => topic)).toEqual(['document.concluded.accepted']);
    const { documents } = await stack.control<{ documents: { sends: number }[] }>(
      `/truth/documents?request_id=${row.requestId}`,
    );
    expect(
      documents
        .filter((one) => !('notice_of' in one) || (one as { notice_of: unknown }).notice_of === null)
        .map((one) => one.sends),
    ).toEqual([1]);
  });

  it('struck at the registry too, gave up no task and broke no rule', async () => {
    expect((await stack.control<{ open: unknown[] }>('/faults')).open).toEqual([]);
    expect((await stack.db.pool.query('SELECT key FROM task WHERE failed_at IS NOT NULL')).rows).toEqual([]);
    expect(await stack.control('/violations')).toMatchObject({ violations: [], count: 0 });
  });
});
