import type { RecordedEvent } from '#event-store';
import { inTransaction, type Pool, type Transaction } from '#postgres';
import { lockCheckpoint, moveCheckpoint } from './checkpoint.js';

/** Handles events in order inside the transaction that also moves the checkpoint. Effects outside that transaction may happen twice. */
export type Handle = (events: RecordedEvent[], tx: Transaction) => Promise<void>;

/** Who works on which subscription, and what it does with events. */
export interface Work {
  pool: Pool;
  name: string;
  handle: Handle;
  holder: string;
  leaseMs: number;
  /** Takes the subscription over from a runner, waiting for its page to end, instead of standing by. */
  takesOver: boolean;
}

export interface Page {
  from: bigint;
  events: RecordedEvent[];
  upTo: bigint;
}

/** `done`: handled and the checkpoint moved. `elsewhere`: nothing done, because the checkpoint is not ours or not where we thought. */
export type PageOutcome = 'done' | 'elsewhere';

/**
 * One page, one transaction: lock the checkpoint, see that it stands where the page begins, handle, move it, commit. Whatever fails leaves
 * all of it undone, and a commit whose answer was lost shows itself at the next attempt, because the checkpoint has moved.
 */
export async function handlePage(work: Work, page: Page): Promise<PageOutcome> {
  return inTransaction(work.pool, async (tx) => {
    surviveLoss(tx);
    const checkpoint = await lockCheckpoint(tx, work.name, { holder: work.holder, waits: work.takesOver });
    if (checkpoint === undefined || checkpoint.position !== page.from) return 'elsewhere';
    if (checkpoint.heldByOtherMs > 0 && !work.takesOver) return 'elsewhere';
    if (page.events.length > 0) await work.handle(page.events, tx);
    await moveCheckpoint(tx, work.name, { position: page.upTo, holder: work.holder, leaseMs: work.leaseMs });
    return 'done';
  }, { name: `page of ${work.name}` });
}

/** A connection that is lost between two statements says so as an event, which would end the process if nobody heard it; the next statement fails anyway. */
function surviveLoss(tx: Transaction): void {
  if (tx.listenerCount('error') === 0) tx.on('error', () => undefined);
}
