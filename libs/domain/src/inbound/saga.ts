import { defined, neverReached } from '#kernel';
import type { RegistryStatus } from '../document/events.js';
import { later, onGrid, type DocumentRules, type PlannedTask } from '../document/planned-task.js';
import { eventIn, type SagaEvent as AnySagaEvent } from '../saga/saga-event.js';
import {
  documentIdOfStream,
  INBOUND_STREAM_PREFIX,
  type InboundAskedAgain,
  type InboundConcluded,
  type InboundDirection,
  type InboundEvent,
} from './events.js';

type InboundRules = Pick<
  DocumentRules,
  'statusAfterSendMs' | 'receiptAfterStatusMs' | 'failedGraceMs' | 'statusGridMs'
> & {
  /** Whether the contents of the containers that a document of this type names are asked for; absent: of none. */
  seeksContents?: (docType: number) => boolean;
};

export type PlannedInboundTask = PlannedTask<
  'inbound_status' | 'inbound_download' | 'inbound_receipt' | 'inbound_link' | 'seek_contents'
>;

/** What is remembered between the events of one document: through whom it is read, and whether it is over. */
interface InboundSagaState {
  account: string;
  direction: InboundDirection;
  isOver: boolean;
  /** Log position at which what was given up was asked for again: its tasks are others than the first. */
  askedAgainAt?: string;
}

type SagaEvent = Omit<AnySagaEvent, 'version'>;

export const INBOUND_SAGA = {
  name: 'inbound',
  filter: { streamPrefixes: [INBOUND_STREAM_PREFIX] },
  initial: { account: '', direction: 'incoming', isOver: false } as InboundSagaState,
  keysOf: (event: Pick<SagaEvent, 'stream'>): string[] => [documentIdOfStream(event.stream)],
  /** After the end nothing is asked for any more, so nothing need be remembered. */
  isDone: (state: InboundSagaState): boolean => state.isOver,
};

type Reaction = { state: InboundSagaState; tasks: PlannedInboundTask[] };

/**
 * What follows from one event. Due times count from the handling of its page, which is after the answer that caused it
 * had arrived (registry-interface 8).
 */
export function reactToInboundEvent(rules: InboundRules) {
  return (state: InboundSagaState, recorded: SagaEvent): Reaction => {
    const event = eventIn<InboundEvent>(recorded);
    const at = recorded.handledAt;
    switch (event.type) {
      case 'InboundSeen': {
        const { account, direction, documentId, status } = event.data;
        const known = { account, direction, isOver: false };
        const seen = { documentId, status, isLastWord: false, isNew: true, at };
        return { state: known, tasks: afterStatus(rules, known, seen) };
      }
      case 'InboundStatusObserved': {
        const { documentId, status, isLastWord = false } = event.data;
        return { state, tasks: afterStatus(rules, state, { documentId, status, isLastWord, isNew: false, at }) };
      }
      case 'InboundDownloaded':
      case 'InboundDownloadGivenUp':
        if (state.direction === 'outgoing') return { state, tasks: [] };
        return { state, tasks: [link(state, event.data.documentId, { position: recorded.position, at })] };
      case 'InboundConcluded':
        return {
          state: { ...state, isOver: true },
          tasks: bringsContainers(rules, event.data) ? [seekContents(state, event.data, recorded)] : [],
        };
      case 'InboundAskedAgain':
        return askAgain(rules, event.data, recorded);
      case 'InboundRecognised':
        return { state: { ...state, isOver: true }, tasks: [] };
      case 'InboundReceiptStored':
      case 'InboundReceiptGivenUp':
      case 'InboundLinked':
        return { state, tasks: [] };
      default:
        return neverReached(event, 'inbound event');
    }
  };
}

/** Only what was given up; the receipt keeps its distance from the status, which was read long ago. */
function askAgain(
  rules: InboundRules,
  { documentId, direction, account, parts }: InboundAskedAgain['data'],
  { position, handledAt: at }: SagaEvent,
): Reaction {
  const state = { account, direction, isOver: false, askedAgainAt: position.toString() };
  const dueAt = { document: at, receipt: later(at, rules.receiptAfterStatusMs) };
  const kinds = { document: 'inbound_download', receipt: 'inbound_receipt' } as const;
  return { state, tasks: parts.map((part) => task(state, documentId, { kind: kinds[part], dueAt: dueAt[part] })) };
}

/**
 * Read models may be behind: the task knows how far they must have come, so that what it finds does not depend on when
 * it runs.
 */
function link(
  state: InboundSagaState,
  documentId: string,
  { position, at }: { position: bigint; at: Date },
): PlannedInboundTask {
  const planned = task(state, documentId, { kind: 'inbound_link', dueAt: at });
  return { ...planned, payload: { ...planned.payload, plannedAt: position.toString() } };
}

/** Told to us by others, as having happened, with bytes that can be read. */
const bringsContainers = (
  { seeksContents }: InboundRules,
  { direction, outcome, isReadable, docType }: InboundConcluded['data'],
): boolean =>
  direction === 'incoming' &&
  outcome === 'accepted' &&
  isReadable &&
  docType !== undefined &&
  seeksContents?.(docType) === true;

function seekContents(
  state: InboundSagaState,
  { documentId, acceptedAt }: InboundConcluded['data'],
  { position, handledAt: dueAt }: SagaEvent,
): PlannedInboundTask {
  const planned = task(state, documentId, { kind: 'seek_contents', dueAt });
  return { ...planned, payload: { ...planned.payload, ...defined({ acceptedAt }), plannedAt: position.toString() } };
}

interface Observed {
  documentId: string;
  status: RegistryStatus;
  isLastWord: boolean;
  /** Seen in a list just now; a status read that finds it unfinished comes again by itself. */
  isNew: boolean;
  at: Date;
}

function afterStatus(
  rules: InboundRules,
  state: InboundSagaState,
  { documentId, status, isLastWord, isNew, at }: Observed,
): PlannedInboundTask[] {
  const download = task(state, documentId, { kind: 'inbound_download', dueAt: at });
  switch (status) {
    case 'uploading':
    case 'processing':
      return isNew
        ? [
            task(state, documentId, {
              kind: 'inbound_status',
              dueAt: onGrid(later(at, rules.statusAfterSendMs), rules.statusGridMs),
            }),
          ]
        : [];
    case 'processed':
    case 'failed_result_ready':
      return state.direction === 'incoming'
        ? [download]
        : [
            download,
            task(state, documentId, { kind: 'inbound_receipt', dueAt: later(at, rules.receiptAfterStatusMs) }),
          ];
    case 'failed': {
      if (isLastWord || rules.failedGraceMs === 0) return [download];
      // A bare FAILED can still turn out otherwise: it is read once more after the grace (public-facts 4).
      const again = task(state, documentId, { kind: 'inbound_status', dueAt: later(at, rules.failedGraceMs) });
      return [{ ...again, key: `${again.key}:after-failed`, payload: { ...again.payload, isLastWord: true } }];
    }
    default:
      return neverReached(status, 'document status');
  }
}

const LANES: Record<PlannedInboundTask['kind'], (account: string) => string> = {
  inbound_status: (account) => `${account}/status`,
  inbound_download: (account) => `${account}/download`,
  inbound_receipt: (account) => `${account}/receipt`,
  inbound_link: () => 'internal',
  seek_contents: () => 'internal',
};

function task<Kind extends PlannedInboundTask['kind']>(
  { account, direction, askedAgainAt }: InboundSagaState,
  documentId: string,
  { kind, dueAt }: { kind: Kind; dueAt: Date },
) {
  return {
    key: `${kind}:${documentId}${askedAgainAt === undefined ? '' : `:again-${askedAgainAt}`}`,
    kind,
    lane: LANES[kind](account),
    dueAt,
    payload: { documentId, account, direction },
  };
}
