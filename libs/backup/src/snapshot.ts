import { nameTransaction, type Pool, type Transaction } from '#postgres';

/** After so long a transaction hands its snapshot on; a page takes far less than what is left of 30 s. */
const HAND_ON_AFTER_MS = 8_000;

/**
 * One view of the database that may last longer than a transaction is allowed to: before a transaction grows old,
 * another takes its snapshot over (pg_export_snapshot) and it ends. Nothing is locked; what is deleted meanwhile is
 * kept by the server until the end.
 */
export class Snapshot {
  private begunMs = performance.now();

  private constructor(
    private readonly pool: Pool,
    private session: Transaction,
    private readonly handOnAfterMs: number,
  ) {}

  static async open(pool: Pool, handOnAfterMs = HAND_ON_AFTER_MS): Promise<Snapshot> {
    return new Snapshot(pool, await begin(pool), handOnAfterMs);
  }

  /** The transaction to read the next page with. */
  async reader(): Promise<Transaction> {
    if (performance.now() - this.begunMs < this.handOnAfterMs) return this.session;
    const { rows } = await this.session.query<{ id: string }>('SELECT pg_export_snapshot() AS id');
    const next = await begin(this.pool, rows[0]?.id);
    const old = this.session;
    this.session = next;
    this.begunMs = performance.now();
    await end(old);
    return next;
  }

  close(): Promise<void> {
    return end(this.session);
  }
}

async function begin(pool: Pool, snapshot?: string): Promise<Transaction> {
  const session = await pool.connect();
  try {
    nameTransaction(session, 'snapshot of a backup');
    await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    // It names a file of the server, of hexadecimal numbers: no text of anybody else comes here.
    if (snapshot !== undefined)
      await session.query(`SET TRANSACTION SNAPSHOT '${snapshot.replaceAll(/[^0-9A-Fa-f-]/g, '')}'`);
    return session;
  } catch (error) {
    session.release(error as Error);
    throw error;
  }
}

async function end(session: Transaction): Promise<void> {
  let broken: Error | undefined;
  await session.query('COMMIT').catch((error: Error) => (broken = error));
  session.release(broken);
}
