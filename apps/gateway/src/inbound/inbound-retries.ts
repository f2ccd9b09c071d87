import {
  evolveInbound,
  givenUpOf,
  INBOUND_ABSENT,
  inboundStream,
  type InboundEvent,
  type InboundPart,
  type InboundState,
} from '#domain';
import type { Actor } from '#event-store';
import { PedigreeError } from '#kernel';
import type { ReadModels } from '#read-models';
import { knownAccount } from '../accounts/known-account.js';
import { streamEvents } from '../stream-events.js';
import { INTERNAL_LANE, type WorkerAccess } from '../worker-access.js';

export interface InboundRetriesOptions extends WorkerAccess {
  readModels: Pick<ReadModels, 'inboundGivenUp'>;
  /** Names of the configured accounts. */
  accounts: string[];
}

/** Who asks, why, and through which account; absent: the one in whose list the document stood. */
interface Asked {
  account?: string | undefined;
  reason: string;
  actor: Actor;
}

interface InboundRetry {
  documentId: string;
  account: string;
  /** What had been given up. */
  parts: InboundPart[];
}

/**
 * Has the registry asked again for what it did not give of documents of others. The worker does it: it alone writes to
 * their streams.
 */
export class InboundRetries {
  constructor(private readonly options: InboundRetriesOptions) {}

  /**
   * The same again before it is done changes nothing.
   * @throws PedigreeError not_found, not_given_up, unknown_account.
   */
  async retry(documentId: string, asked: Asked): Promise<InboundRetry> {
    const { pool, store, queue } = this.options;
    const events = await streamEvents<InboundEvent>(store, inboundStream(documentId));
    const state = events.reduce(evolveInbound, INBOUND_ABSENT);
    if (state.phase === 'absent')
      throw refusal('not_found', documentId, `no list has shown a document ${documentId} that is not ours`);
    const parts = givenUpOf(state);
    if (parts.length === 0) throw refusal('not_given_up', documentId, whyNot(documentId, state));
    const { reason, actor } = asked;
    const account = knownAccount(this.options.accounts, asked.account ?? state.seen.account);
    const key = `ask_inbound_again:${documentId}:${events.at(-1)?.version ?? 0}`;
    const payload = { documentId, account, actor, reason };
    await queue.schedule(pool, [{ key, kind: 'ask_inbound_again', lane: INTERNAL_LANE, dueAt: new Date(0), payload }]);
    return { documentId, account, parts };
  }

  /**
   * All that were given up of those that stood in an account's list, at most `limit`, those first that were
   * longest ago. `more`: others are left, for another call. @throws PedigreeError unknown_account.
   */
  async retryAll(
    of: string,
    { limit, ...asked }: Asked & { limit: number },
  ): Promise<{ account: string; documentIds: string[]; more: boolean }> {
    const account = knownAccount(this.options.accounts, asked.account ?? of);
    const found = await this.options.readModels.inboundGivenUp(of, limit);
    const documentIds: string[] = [];
    for (const documentId of found.documentIds)
      if (await this.isRetried(documentId, asked)) documentIds.push(documentId);
    return { account, documentIds, more: found.more };
  }

  /** The list may be behind: what is asked for again already, or has come, is passed over. */
  private async isRetried(documentId: string, asked: Asked): Promise<boolean> {
    try {
      await this.retry(documentId, asked);
      return true;
    } catch (error) {
      if (error instanceof PedigreeError && error.code === 'not_given_up') return false;
      throw error;
    }
  }
}

function whyNot(documentId: string, state: Exclude<InboundState, { phase: 'absent' }>): string {
  if (state.phase === 'ours') return `document ${documentId} is our own ${state.requestId}: see there`;
  const stands = state.phase === 'concluded' ? 'everything that the registry gives of it is here' : 'it is being read';
  return `nothing of document ${documentId} was given up: ${stands}`;
}

const refusal = (code: 'not_found' | 'not_given_up', documentId: string, message: string): PedigreeError =>
  new PedigreeError(code, message, { field: 'documentId', item: documentId });
