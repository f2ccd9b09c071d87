import { neverReached, type Sha256 } from '#kernel';
import type { RegistryStatus } from '../document/events.js';
import type {
  InboundAskedAgain,
  InboundContent,
  InboundDownloaded,
  InboundEvent,
  InboundOutcome,
  InboundPart,
  InboundReceiptStored,
  InboundSeen,
  LinkedBy,
} from './events.js';

export type Seen = InboundSeen['data'];

/** What came of asking for something: `given_up` counts as an answer too. */
type Asked<T> = T | 'given_up' | undefined;

/** Where a document of others stands. */
export type InboundState =
  | { phase: 'absent' }
  | {
      phase: 'followed';
      seen: Seen;
      status: RegistryStatus;
      /** A FAILED was read again after the grace, and stayed. */
      isLastWord: boolean;
      processedAt: string | undefined;
      download: Asked<InboundDownloaded['data']>;
      receipt: Asked<InboundReceiptStored['data']>;
      link: Link | undefined;
      /** It had concluded, and what was given up is asked for again. */
      isAgain: boolean;
    }
  | {
      phase: 'concluded';
      seen: Seen;
      /** Where it stood before: it goes on from there when what was given up is asked for again. */
      before: Followed;
      outcome: InboundOutcome;
      documentSha256: Sha256 | undefined;
      content: InboundContent | undefined;
      link: Link | undefined;
    }
  /** Recognised as a document of ours: that one is followed, and not this. */
  | { phase: 'ours'; seen: Seen; requestId: string };

interface Link {
  requestId: string;
  by: LinkedBy;
}

export const INBOUND_ABSENT: InboundState = { phase: 'absent' };

type Known = Exclude<InboundState, { phase: 'absent' }>;
export type Followed = Extract<InboundState, { phase: 'followed' }>;

/**
 * The state after one event. Throws on an event that cannot follow: the stream is damaged and must not be worked on.
 */
export function evolveInbound(state: InboundState, event: InboundEvent): InboundState {
  if (event.type === 'InboundSeen') {
    if (state.phase !== 'absent') throw new Error(`InboundSeen in phase ${state.phase}`);
    const { data } = event;
    return {
      phase: 'followed',
      seen: data,
      status: data.status,
      isLastWord: false,
      processedAt: data.processedAt,
      download: undefined,
      receipt: undefined,
      link: undefined,
      isAgain: false,
    };
  }
  if (state.phase === 'absent') throw new Error(`${event.type} before InboundSeen`);
  return evolveKnown(state, event);
}

function evolveKnown(state: Known, event: Exclude<InboundEvent, InboundSeen>): InboundState {
  switch (event.type) {
    case 'InboundStatusObserved': {
      const before = followed(state, event);
      const { status, isLastWord = false, processedAt = before.processedAt } = event.data;
      return { ...before, status, isLastWord, processedAt };
    }
    case 'InboundDownloaded':
      return { ...followed(state, event), download: event.data };
    case 'InboundDownloadGivenUp':
      return { ...followed(state, event), download: 'given_up' };
    case 'InboundReceiptStored':
      return { ...followed(state, event), receipt: event.data };
    case 'InboundReceiptGivenUp':
      return { ...followed(state, event), receipt: 'given_up' };
    case 'InboundConcluded': {
      const before = followed(state, event);
      const { seen, download, link } = before;
      const content = typeof download === 'object' && 'docType' in download.content ? download.content : undefined;
      const { outcome, documentSha256 } = event.data;
      return { phase: 'concluded', seen, before, outcome, documentSha256, content, link };
    }
    case 'InboundAskedAgain':
      return askedAgain(state, event);
    case 'InboundLinked': {
      const { requestId, by } = event.data;
      if (state.phase === 'ours') throw new Error('InboundLinked in phase ours');
      return { ...state, link: { requestId, by } };
    }
    case 'InboundRecognised':
      return { phase: 'ours', seen: state.seen, requestId: event.data.requestId };
    default:
      return neverReached(event, 'inbound event');
  }
}

function askedAgain(state: Known, { data: { parts } }: InboundAskedAgain): InboundState {
  if (state.phase === 'ours') throw new Error('InboundAskedAgain in phase ours');
  const open = state.phase === 'concluded' ? { ...state.before, link: state.link, isAgain: true } : state;
  return {
    ...open,
    ...(parts.includes('document') ? { download: undefined } : {}),
    ...(parts.includes('receipt') ? { receipt: undefined } : {}),
  };
}

/**
 * What the registry was asked for often enough and did not give, or gave in bytes that cannot be read; nothing while it
 * is still asked for.
 */
export function givenUpOf(state: InboundState): InboundPart[] {
  if (state.phase === 'absent' || state.phase === 'ours') return [];
  const { download, receipt } = state.phase === 'concluded' ? state.before : state;
  return [
    ...(download === 'given_up' || isUnreadable(download) ? (['document'] as const) : []),
    ...(receipt === 'given_up' ? (['receipt'] as const) : []),
  ];
}

const isUnreadable = (download: Followed['download']): boolean =>
  typeof download === 'object' && 'problem' in download.content;

function followed(state: Known, event: InboundEvent): Followed {
  if (state.phase !== 'followed') throw new Error(`${event.type} in phase ${state.phase}`);
  return state;
}
