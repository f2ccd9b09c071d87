import { isInForce, seriesKey, SUSPENSION_STREAM_PREFIX, suspensionIdOfStream } from '#domain';
import type { EventStore } from '#event-store';
import type { Queryable } from '#postgres';
import { checkpointPosition, projectionCheckpoint } from '#subscriptions';
import { foldSuspension } from './fold.js';
import { SUSPENSION, type SuspensionRow } from './row.js';

/** The suspensions that are in force, as the log tells them up to a position. */
export interface InForce {
  knownAt: bigint;
  /** Position of the newest event about any suspension. */
  changedAt: bigint;
  /** Of these products some series is suspended. */
  gtins: ReadonlySet<string>;
  /** The suspensions of one series, letter by letter; none where it may go. */
  of(gtin: string, series: string): string[];
}

/** Most events that one question reads at once. */
const PAGE = 1_000;

/**
 * What is suspended, from the log itself: an answer counts every event that stood in the log when it was asked for. The
 * read model only saves the way there: it is where the first question begins.
 */
export class SuspensionsInForce {
  private readonly rows = new Map<string, SuspensionRow>();
  private readUpTo: bigint | undefined;
  /** As the rows tell; undefined where one has changed since. */
  private told: Omit<InForce, 'knownAt'> | undefined;

  constructor(private readonly options: { pool: Queryable; store: Pick<EventStore, 'readAll' | 'head'> }) {}

  async now(): Promise<InForce> {
    const head = await this.options.store.head();
    this.readUpTo ??= await this.begin();
    while (this.readUpTo < head) await this.readPage(this.readUpTo);
    this.told ??= toldBy(this.rows.values());
    return { ...this.told, knownAt: this.readUpTo };
  }

  /** The checkpoint is read before the rows, which may be newer: what they hold already changes nothing. */
  private async begin(): Promise<bigint> {
    const { pool } = this.options;
    const upTo = await suspensionsUpTo(pool);
    const known = await pool.query<SuspensionRow>(`SELECT ${SUSPENSION.select()} FROM suspension`);
    for (const row of known.rows) if (!this.rows.has(row.suspensionId)) this.rows.set(row.suspensionId, row);
    return this.readUpTo ?? upTo;
  }

  /** Questions at the same time may read the same page: an event that a row holds changes nothing. */
  private async readPage(after: bigint): Promise<void> {
    const filter = { streamPrefixes: [SUSPENSION_STREAM_PREFIX] };
    const page = await this.options.store.readAll(after, { filter, limit: PAGE });
    for (const event of page.events) {
      const id = suspensionIdOfStream(event.stream);
      this.rows.set(id, foldSuspension(this.rows.get(id), event));
      this.told = undefined;
    }
    if (page.readUpTo > (this.readUpTo ?? 0n)) this.readUpTo = page.readUpTo;
    else if (page.readUpTo <= after) throw new Error(`the log is read up to ${after}, and not on to its head`);
  }
}

/** Up to which log position the read model tells the suspensions, and the lists. */
export const suspensionsUpTo = (db: Queryable): Promise<bigint> =>
  checkpointPosition(db, projectionCheckpoint({ name: 'suspensions' }));

/** Those of some products, as far as the read model has come: for answers that stop nothing. */
export async function recordedInForce(db: Queryable, gtins: readonly string[]): Promise<Pick<InForce, 'gtins' | 'of'>> {
  if (gtins.length === 0) return toldBy([]);
  const { rows } = await db.query<SuspensionRow>({
    name: 'suspensions-in-force',
    text: `SELECT ${SUSPENSION.select()} FROM suspension WHERE in_force AND matched @> ANY ($1::jsonb[])`,
    values: [gtins.map((gtin) => JSON.stringify([{ gtin }]))],
  });
  return toldBy(rows);
}

function toldBy(rows: Iterable<SuspensionRow>): Omit<InForce, 'knownAt'> {
  const bySeries = new Map<string, string[]>();
  const gtins = new Set<string>();
  let changedAt = 0n;
  for (const { suspensionId, state, position } of rows) {
    if (position > changedAt) changedAt = position;
    if (!isInForce(state)) continue;
    for (const match of state.matches) {
      gtins.add(match.gtin);
      const key = seriesKey(match);
      bySeries.set(key, [...(bySeries.get(key) ?? []), suspensionId].sort());
    }
  }
  const of = (gtin: string, series: string): string[] => bySeries.get(seriesKey({ gtin, series })) ?? [];
  return { changedAt, gtins, of };
}
