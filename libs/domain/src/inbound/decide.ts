import { defined, neverReached, type Sha256 } from '#kernel';
import type { RegistryStatus } from '../document/events.js';
import type { InboundDownloaded, InboundEvent, InboundOutcome, InboundReceiptStored, LinkedBy } from './events.js';
import { evolveInbound, givenUpOf, type Followed, type InboundState, type Seen } from './state.js';

/** What may be asked of a document of others. */
export type InboundCommand =
  | { type: 'See'; seen: Seen }
  | {
      type: 'ObserveStatus';
      status: RegistryStatus;
      /** It was read again after the grace of a FAILED. */ isLastWord: boolean;
      processedAt?: string;
      answerSha256: Sha256;
    }
  | { type: 'RecordDownload'; download: Omit<InboundDownloaded['data'], 'documentId'> }
  | { type: 'GiveUpDownload'; reason: string; attempts: number }
  | { type: 'RecordReceipt'; receipt: Omit<InboundReceiptStored['data'], 'documentId'> }
  | { type: 'GiveUpReceipt'; reason: string; attempts: number; receiptSha256?: Sha256 }
  /** `account`: through whom it is asked from now on. */
  | { type: 'AskAgain'; account: string }
  | { type: 'Link'; requestId: string; by: LinkedBy; sharedItems?: number }
  | { type: 'Recognise'; requestId: string };

/**
 * The events that follow from a command in a state; none when the command says nothing new, which makes every repeat
 * harmless.
 */
export function decideInbound(state: InboundState, command: InboundCommand): InboundEvent[] {
  switch (command.type) {
    case 'See':
      return state.phase === 'absent' ? [{ type: 'InboundSeen', data: command.seen }] : [];
    case 'ObserveStatus':
      return observeStatus(state, command);
    case 'RecordDownload':
      return firstAnswer(state, 'download', (documentId) => ({
        type: 'InboundDownloaded',
        data: { documentId, ...command.download },
      }));
    case 'GiveUpDownload': {
      const { type: _, ...why } = command;
      return firstAnswer(state, 'download', (documentId) => ({
        type: 'InboundDownloadGivenUp',
        data: { documentId, ...why },
      }));
    }
    case 'RecordReceipt':
      return firstAnswer(state, 'receipt', (documentId) => ({
        type: 'InboundReceiptStored',
        data: { documentId, ...command.receipt },
      }));
    case 'GiveUpReceipt': {
      const { type: _, ...why } = command;
      return firstAnswer(state, 'receipt', (documentId) => ({
        type: 'InboundReceiptGivenUp',
        data: { documentId, ...why },
      }));
    }
    case 'AskAgain':
      return askAgain(state, command.account);
    case 'Link':
      return link(state, command);
    case 'Recognise':
      return recognise(state, command.requestId);
    default:
      return neverReached(command, 'inbound command');
  }
}

function recognise(state: InboundState, requestId: string): InboundEvent[] {
  if (state.phase === 'absent' || state.phase === 'ours') return [];
  return [{ type: 'InboundRecognised', data: { documentId: state.seen.documentId, requestId } }];
}

function link(state: InboundState, { type: _, ...found }: Extract<InboundCommand, { type: 'Link' }>): InboundEvent[] {
  if (state.phase === 'absent' || state.phase === 'ours' || state.link !== undefined) return [];
  return [{ type: 'InboundLinked', data: { documentId: state.seen.documentId, ...found } }];
}

/** Nothing where nothing was given up, or all of it is asked for again already. */
function askAgain(state: InboundState, account: string): InboundEvent[] {
  const parts = givenUpOf(state);
  if (parts.length === 0 || state.phase === 'absent') return [];
  const { documentId, direction } = state.seen;
  return [{ type: 'InboundAskedAgain', data: { documentId, direction, account, parts } }];
}

function observeStatus(
  state: InboundState,
  { status, isLastWord, processedAt, answerSha256 }: Extract<InboundCommand, { type: 'ObserveStatus' }>,
): InboundEvent[] {
  return whileFollowed(state, (open) => {
    const saysMore = isLastWord && status === 'failed' && !open.isLastWord;
    if (open.status === status && !saysMore) return [];
    const { documentId } = open.seen;
    const data = {
      documentId,
      status,
      answerSha256,
      ...(saysMore ? { isLastWord: true as const } : {}),
      ...defined({ processedAt }),
    };
    return [{ type: 'InboundStatusObserved', data }];
  });
}

/** What came of asking for its bytes or its receipt: only the first answer counts. */
const firstAnswer = (
  state: InboundState,
  to: 'download' | 'receipt',
  told: (documentId: string) => InboundEvent,
): InboundEvent[] => whileFollowed(state, (open) => (open[to] === undefined ? [told(open.seen.documentId)] : []));

/** What is new, and the conclusion when nothing is waited for any more. */
function whileFollowed(state: InboundState, news: (open: Followed) => InboundEvent[]): InboundEvent[] {
  if (state.phase !== 'followed') return [];
  const events = news(state);
  if (events.length === 0) return [];
  const after = events.reduce<InboundState>(evolveInbound, state);
  return after.phase === 'followed' && isComplete(after) ? [...events, conclusion(after)] : events;
}

/**
 * Its bytes and, where the registry gives one, its receipt. A document that failed has none, and neither has what
 * another participant is told.
 */
function isComplete({ seen, status, download, receipt }: Followed): boolean {
  if (download === undefined || status === 'uploading' || status === 'processing') return false;
  return status === 'failed' || seen.direction === 'incoming' || receipt !== undefined;
}

function conclusion(state: Followed): InboundEvent {
  const { seen, download, receipt } = state;
  const { documentId, direction, channel, requestId } = seen;
  const content = typeof download === 'object' ? download.content : undefined;
  const docType = content !== undefined && 'docType' in content ? content.docType : seen.docType;
  const acceptedAt = typeof receipt === 'object' ? receipt.acceptedAt : (state.processedAt ?? seen.receivedAt);
  return {
    type: 'InboundConcluded',
    data: {
      documentId,
      direction,
      channel,
      outcome: outcomeOf(state),
      isReadable: content !== undefined && 'docType' in content,
      ...defined({ requestId, docType }),
      ...(typeof download === 'object' ? { documentSha256: download.documentSha256 } : {}),
      ...(typeof receipt === 'object' ? { receiptSha256: receipt.receiptSha256 } : {}),
      ...defined({ acceptedAt }),
      ...(state.isAgain ? { again: true as const } : {}),
    },
  };
}

function outcomeOf({ seen, status, receipt }: Followed): InboundOutcome {
  if (status === 'failed') return 'failed';
  if (typeof receipt === 'object') return receipt.result;
  // What another participant is told has happened; of our own document only the receipt says how it ended.
  return seen.direction === 'incoming' && status === 'processed' ? 'accepted' : 'undetermined';
}
