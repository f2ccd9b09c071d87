import type { EventStore } from '#event-store';
import { defined } from '#kernel';
import { leavesInTiles, type NoteSigner } from '#merkle';
import type { Pool, Transaction } from '#postgres';
import { LogKeys, openBreaks } from '#proofs';
import type { ServiceLog } from '#service';
import { breakCount, Contradiction, newestPage, sealedSize, type StoredCheckpoint, tilesIn } from '#sealed-log';
import { publish, signCheckpoint } from '../log/checkpoints.js';
import type { Sealable } from '../log/leaf-pages.js';
import { lockedSize, sealBehind } from '../log/seal.js';
import { differenceWords, firstDifference } from './first-difference.js';
import type { AuditorFolder, Memory } from './folder.js';
import type { AlarmSource, HistoryAlarm } from './history-alarm.js';
import {
  hold,
  holdNewest,
  holdTree,
  NEWEST_LEAVES,
  refuseGap,
  rememberedCheckpoint,
  toldHead,
  type Held,
} from './hold.js';

export interface HistoryWatchOptions {
  pool: Pool;
  store: EventStore;
  folder: AuditorFolder;
  signer: NoteSigner;
  /** Verifier keys of earlier signing keys. */
  trusted: string[];
  alarm: HistoryAlarm;
  log: ServiceLog;
  signal: AbortSignal;
}

/**
 * Seals and signs nothing that contradicts what the auditor remembers outside the database. The order of every step:
 * hold the log against the folder, write the folder, then the database.
 */
export class HistoryWatch {
  private readonly keys: LogKeys;
  private explaining: Promise<void> = Promise.resolve();
  /** Leaves at the last look that went well. */
  private lookedUpTo: number | undefined;
  private holding: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: HistoryWatchOptions) {
    this.keys = new LogKeys(options.signer, options.trusted);
  }

  /**
   * Holds the log against the folder; takes up what other auditors have signed and what a person has told, and
   * publishes what a crash has kept back. Throws Contradiction.
   */
  look(): Promise<Held> {
    return this.alarmed('look', async () => {
      const { pool, folder, log } = this.options;
      const memory = folder.read();
      const held = await this.hold(memory);
      if (held.breaks.length > memory.breaks.length) await folder.leaves.clear();
      if (held.memory !== memory) {
        await this.remember(held, this.leavesKnown(memory, held));
        log.warn(
          { size: held.remembered?.size ?? 0, breaks: held.breaks.length },
          'adopted a checkpoint that was signed elsewhere',
        );
      }
      const { remembered } = held;
      if (held.isUnpublished && remembered !== undefined)
        await publish(pool, { ...remembered, breaks: held.breaks.length, note: held.memory.checkpoint as string });
      this.lookedUpTo = held.size;
      return held;
    });
  }

  /** Signs the tree where it has grown. What is signed is in the folder before anybody else can read it. */
  async sign(): Promise<StoredCheckpoint | undefined> {
    const { pool, signer, trusted } = this.options;
    const { memory, remembered, breaks } = await this.look();
    return this.alarmed('look', () =>
      signCheckpoint(pool, signer, {
        trusted,
        goesOnFrom: { checkpoint: remembered, breaks: breaks.length },
        remember: async (note) => {
          const previous = defined({ previous: memory.checkpoint });
          const next = { checkpoint: note, ...previous, breaks: memory.breaks };
          await this.remember(
            { memory: next, remembered: this.keys.openCheckpoint(note, breaks.length) },
            remembered?.size,
          );
        },
      }),
    );
  }

  /**
   * Makes a page of events leaves, in the transaction that moves the cursor. Throws Contradiction; also as long as the
   * look finds one: behind further pages it would look at other events, and find nothing any more. Throws whatever
   * keeps it from a look of its own, where one is due.
   */
  readonly seal = async (events: Sealable[], tx: Transaction): Promise<void> => {
    this.refuseWhatLookFound();
    await this.lookIfDue(events.length, tx);
    await this.alarmed('seal', async () => {
      const memory = this.options.folder.read();
      if ((await breakCount(tx)) !== memory.breaks.length)
        throw new Error(
          'breaks of the log in the database and in the folder are not the same; they are looked at first',
        );
      const size = await lockedSize(tx);
      await holdTree(tx, rememberedCheckpoint(this.keys, memory), size);
      const told = toldHead(openBreaks(memory.breaks, (note) => this.keys.openBreak(note)));
      await this.holdOrder(events, tx, { size, told });
      await sealBehind(size, events, tx);
    });
  };

  private refuseWhatLookFound(): void {
    const found = this.options.alarm.foundByLook();
    if (found !== undefined) throw new Contradiction(found.reason, found.leaf);
  }

  /**
   * Sealing goes no further behind the last look that went well than a look reads, so that each event is held once more
   * after it was sealed. It waits for nobody else's look, and takes nothing up. That the log agrees again is left to
   * the regular look to say.
   */
  private async lookIfDue(more: number, tx: Transaction): Promise<void> {
    const size = await sealedSize(tx);
    const { lookedUpTo } = this;
    // It is made smaller where a break is told.
    if (lookedUpTo !== undefined && size >= lookedUpTo && size + more <= lookedUpTo + NEWEST_LEAVES) return;
    const held = await this.raising('look', () => this.hold(this.options.folder.read()));
    this.refuseWhatLookFound();
    this.lookedUpTo = held.size;
  }

  /** One after the other: each takes two connections. */
  private hold(memory: Memory): Promise<Held> {
    const held = this.holding.then(() => hold({ ...this.options, keys: this.keys }, memory));
    this.holding = held.catch(() => undefined);
    return held;
  }

  /** When nothing of it runs any more. */
  async settled(): Promise<void> {
    await this.explaining;
  }

  /** Every event comes behind the newest leaf, whose event is there, once, and none is missing between. */
  private async holdOrder(
    events: Sealable[],
    tx: Transaction,
    { size, told }: { size: number; told: bigint },
  ): Promise<void> {
    let end = (await newestPage(tx))?.lastPosition ?? 0n;
    await holdNewest(tx, this.options, { size, end });
    for (const [index, { position }] of events.entries()) {
      if (position <= end)
        throw new Contradiction(`the event at position ${position} is sealed already: the cursor was set back`, size);
      if (this.options.store.positionUnit === 'event') refuseGap({ end, next: position, leaf: size + index, told });
      end = position;
    }
  }

  /** Leaves of the same tree that the folder has already. */
  private leavesKnown(memory: Memory, { breaks }: Held): number {
    return breaks.length > memory.breaks.length ? 0 : (rememberedCheckpoint(this.keys, memory)?.size ?? 0);
  }

  private async remember({ memory, remembered }: Pick<Held, 'memory' | 'remembered'>, known = 0): Promise<void> {
    const { pool, folder } = this.options;
    await folder.leaves.grow(remembered?.size ?? 0, known, (from, to) => leavesInTiles(tilesIn(pool), from, to));
    folder.write(memory);
  }

  private async alarmed<T>(source: AlarmSource, work: () => Promise<T>): Promise<T> {
    const { alarm, log } = this.options;
    const done = await this.raising(source, work);
    if (alarm.clear(source)) log.warn({}, 'the log agrees again with what was signed');
    return done;
  }

  private async raising<T>(source: AlarmSource, work: () => Promise<T>): Promise<T> {
    const { alarm, log } = this.options;
    try {
      return await work();
    } catch (error) {
      if (error instanceof Contradiction && alarm.raise(source, error)) {
        log.error(
          { leaf: error.leaf, reason: error.message },
          'the log contradicts what was signed; nothing is sealed',
        );
        this.explaining = this.explain();
      }
      throw error;
    }
  }

  /** Finds the first event that differs, which takes as long as reading the log does. Never rejects. */
  private async explain(): Promise<void> {
    const { store, folder, alarm, log, signal } = this.options;
    try {
      if ((await folder.leaves.count()) === 0) return;
      const difference = await firstDifference(store, folder.leaves, { signal });
      if (signal.aborted) return;
      const words = difference === undefined ? 'every event that was signed is as it was' : differenceWords(difference);
      alarm.explain(words, difference?.leaf);
      log.error({ leaf: difference?.leaf, event: difference?.event?.id }, words);
    } catch (err) {
      log.warn({ err }, 'could not read which event differs');
    }
  }
}
