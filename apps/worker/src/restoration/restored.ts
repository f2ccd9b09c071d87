import { foundSince, listsSince, newestRestoration, releaseRestoration, unknownSince, type Restoration } from '#backup';
import { newEvent, type EventStore } from '#event-store';
import { uuid5, type JsonObject } from '#kernel';
import type { Pool } from '#postgres';
import type { Installation } from '../aggregate/aggregate-repository.js';

export interface RestoredOptions {
  pool: Pool;
  store: Pick<EventStore, 'append'>;
  installation: Installation;
  /** Accounts that this worker serves. */
  accounts: string[];
  info(about: object, message: string): void;
}

/** While a restored database holds documents back, its row is read again after so long. */
const LOOK_AGAIN_MS = 500;
const LISTS = ['incoming', 'outgoing'] as const;

/**
 * Whether this database is a restored backup, and what that means for what leaves. Until every document list was read
 * to its end since the restore, nothing that changes something at the registry goes: only then is it known what the
 * lost days have sent.
 */
export class Restored {
  private newest: Restoration | undefined;
  private unknownSince: Date | undefined;
  private lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: RestoredOptions) {}

  /** Read once, before anything is done: nobody restores under a program that runs. */
  async open(): Promise<void> {
    this.newest = await newestRestoration(this.options.pool);
    if (this.newest !== undefined) this.unknownSince = await unknownSince(this.options.pool);
    if (this.newest?.state === 'comparing')
      this.options.info(
        { takenAt: this.newest.takenAt },
        'this database is a restored backup: nothing leaves before the document lists since then were read',
      );
  }

  /** Ever: then what looks new here may be old at the registry. */
  get was(): boolean {
    return this.newest !== undefined;
  }

  /**
   * When the backup was taken, for lists that were never read before: also those of an account that came after it, sent
   * in the lost days, and is served again only after the release.
   */
  get takenAt(): Date | undefined {
    return this.unknownSince;
  }

  async isHolding(): Promise<boolean> {
    if (this.newest?.state !== 'comparing') return false;
    if (performance.now() - this.lookedAtMs >= LOOK_AGAIN_MS) {
      this.lookedAtMs = performance.now();
      this.newest = await newestRestoration(this.options.pool);
    }
    return this.newest?.state === 'comparing';
  }

  /**
   * After a list was read to its end: lets documents leave when it was the last one. The event goes first, and says
   * nothing twice.
   */
  async releaseWhenCompared(): Promise<void> {
    const { pool, store, accounts, info } = this.options;
    if (!(await this.isHolding())) return;
    const restoration = this.newest as Restoration;
    const lists = await listsSince(pool, restoration);
    const isThere = (account: string, list: string): boolean =>
      lists.some((one) => one.account === account && one.list === list);
    if (
      !lists.every((one) => one.isRead) ||
      !accounts.every((account) => LISTS.every((list) => isThere(account, list)))
    )
      return;
    const found = await foundSince(pool, restoration);
    await store.append('operations', 'any', [
      this.released(restoration, { found, lists: lists.map(({ account, list }) => ({ account, list })) }),
    ]);
    if (await releaseRestoration(pool, restoration.id))
      info(found, 'the lists since the backup are compared: documents leave again');
    this.newest = { ...restoration, state: 'released' };
  }

  private released(
    restoration: Restoration,
    compared: { found: { incoming: number; outgoing: number }; lists: { account: string; list: string }[] },
  ) {
    const { id, takenAt, backupSha256, logHead, restoredBy } = restoration;
    const type = 'RestorationReleased';
    const data: JsonObject = {
      restorationId: id,
      takenAt: takenAt.toISOString(),
      restoredBy,
      compared: true,
      found: compared.found,
      lists: compared.lists,
      ...(backupSha256 === null ? {} : { backupSha256 }),
      ...(logHead === null ? {} : { logHead: logHead.toString() }),
    };
    return newEvent(
      { type, data },
      {
        says: this.options.installation,
        actor: { kind: 'system', name: 'worker', authenticatedBy: 'process' },
        ...{ at: new Date(), id: uuid5(type, id), correlationId: id, causationId: `restore:${id}` },
      },
    );
  }
}
