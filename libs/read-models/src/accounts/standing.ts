import {
  accountStream,
  evolveAccount,
  NEW_ACCOUNT,
  type AccountCause,
  type AccountCertificate,
  type AccountEvent,
} from '#domain';
import { type EventStore, typedEvents } from '#event-store';
import { defined } from '#kernel';
import { wholeStream } from '../document-timeline/whole-stream.js';
import type { DocumentPhase } from '../phases.js';
import type { AccountHold } from '../port.js';

/** How an account stands: whether anything is sent through it, and with which certificate it signs. */
export interface AccountStanding {
  account: string;
  state: 'active' | 'paused';
  /** Why, and since when, where it is paused. */
  cause?: AccountCause;
  code?: string;
  text?: string;
  since?: string;
  answerSha256?: string;
  requestId?: string;
  /** That of the newest worker; absent before the first signature of some signers, and for password users. */
  certificate?: AccountCertificate;
  /** Events of its stream. */
  events: number;
}

/** Folded from the account's own stream, so that it is never behind the log. */
export async function accountStanding(
  store: Pick<EventStore, 'readStream'>,
  account: string,
): Promise<AccountStanding> {
  const recorded = await wholeStream(store, accountStream(account));
  const state = typedEvents<AccountEvent>(recorded).reduce(evolveAccount, NEW_ACCOUNT);
  const certificate = state.certificate === undefined ? {} : { certificate: state.certificate };
  const common = { account, ...certificate, events: recorded.length };
  if (state.phase === 'active') return { ...common, state: 'active' };
  const since = recorded.findLast((event) => event.type === 'AccountPaused')?.recordedAt.toISOString() ?? '';
  const { cause, code, text, answerSha256, requestId } = state.because;
  return {
    ...common,
    state: 'paused',
    cause,
    code,
    text,
    since,
    ...defined({ answerSha256, requestId }),
  };
}

/** Phases in which a document is still to be sent, or to be brought up to its end. */
const BEFORE_THE_END: DocumentPhase[] = ['waiting', 'ready', 'uploading'];

/** What a document waits for on its account's side: nothing, or one hold. */
export function accountHolds(phase: DocumentPhase, { state, cause, text, since }: AccountStanding): AccountHold[] {
  if (state === 'active' || !BEFORE_THE_END.includes(phase)) return [];
  return [{ kind: 'account', since: since ?? '', for: `${cause}: ${text}`, waivableBy: 'operator' }];
}
