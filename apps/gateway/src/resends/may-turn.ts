import { ABSENT, documentStream, evolve, type DocumentEvent, type DocumentState, type RegistryStatus } from '#domain';
import type { EventStore } from '#event-store';
import type { Pool } from '#postgres';
import type { MemberEnd } from '../intake/halted-group.js';
import { streamEvents } from '../stream-events.js';

export interface MayTurnOptions {
  pool: Pool;
  store: Pick<EventStore, 'readStream'>;
  /** For so long a FAILED may still turn out otherwise (profile rules.failedGraceMs). */
  failedGraceMs: number;
}

/** A document as the log has it. */
export interface FoundDocument {
  state: Exclude<DocumentState, { phase: 'absent' }>;
  /** Log position of its conclusion. */
  concludedAt: bigint | undefined;
}

/**
 * Whether the last read of a FAILED, after its grace, is still to come: its task is there, or its saga has not planned
 * it yet. No time is compared here: the grace is judged once, by the task's due time. $1 lane, $2 key, $3 position of
 * the conclusion.
 */
const MAY_TURN = `SELECT EXISTS (SELECT FROM task WHERE lane = $1 AND key = $2)
  OR NOT EXISTS (SELECT FROM checkpoint WHERE name = 'saga:document' AND position >= $3) AS may_turn`;

export async function findDocument(
  { store }: Pick<MayTurnOptions, 'store'>,
  requestId: string,
): Promise<FoundDocument | undefined> {
  const events = await streamEvents<DocumentEvent>(store, documentStream(requestId));
  const state = events.reduce(evolve, ABSENT);
  const concludedAt = events.findLast(({ type }) => type === 'DocumentConcluded')?.position;
  return state.phase === 'absent' ? undefined : { state, concludedAt };
}

const RECEIPT_TO_COME: readonly (RegistryStatus | undefined)[] = ['processed', 'failed_result_ready'];

/**
 * Whether a document counts as failed, and the registry may still say otherwise. It is turning where a receipt is to
 * come, whatever it failed for, or its newest status is not FAILED any more. It may turn until the last read after its
 * grace.
 */
export async function mayTurn(
  { pool, failedGraceMs }: Omit<MayTurnOptions, 'store'>,
  { state, concludedAt }: FoundDocument,
): Promise<boolean> {
  if (state.phase !== 'concluded' || state.outcome !== 'failed') return false;
  if (RECEIPT_TO_COME.includes(state.status)) return true;
  if (state.cause !== 'registry_failed') return false;
  if (state.status !== 'failed') return true;
  if (failedGraceMs === 0) return false;
  const { account, requestId } = state.registration;
  const { rows } = await pool.query<{ may_turn: boolean }>(MAY_TURN, [
    `${account}/status`,
    `status:${requestId}:after-failed`,
    concludedAt ?? 0n,
  ]);
  return rows[0]?.may_turn !== false;
}

/** How a document ended by its own stream; one that is not known has not. */
export const endBy =
  (options: MayTurnOptions) =>
  async (requestId: string): Promise<MemberEnd> => {
    const found = await findDocument(options, requestId);
    if (found === undefined) return { outcome: undefined, mayTurn: false };
    const { state } = found;
    return {
      outcome: state.phase === 'concluded' ? state.outcome : undefined,
      mayTurn: await mayTurn(options, found),
    };
  };
