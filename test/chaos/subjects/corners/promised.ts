import type { EventKind, Phase } from './reached.js';

/**
 * What a campaign of some seed must reach, else it tested less than it says. A seed stands here when campaigns of it
 * were run and all of these corners were reached with room to spare; what a machine's timing may take away is not
 * promised. A seed that is not listed promises nothing.
 */
export interface Promised {
  seeds: number[];
  /** A shorter or thinner campaign of the same seed promises nothing. */
  leastMinutes: number;
  leastKills: number;
  events: EventKind[];
  crossed: Phase[];
}

/** What every campaign of some minutes comes by: all that a good day has, and what a registry that misbehaves adds. */
const ALWAYS: EventKind[] = [
  ...(['DocumentRegistered', 'DocumentWaiting', 'PredecessorConcluded', 'DocumentReleased'] as const),
  ...([
    'SendAttempted',
    'DocumentSent',
    'SendNotDelivered',
    'SendUnconfirmed',
    'LookUpMissed',
    'SendAbsenceProven',
  ] as const),
  ...(['StatusObserved', 'ReceiptStored', 'DocumentDownloaded', 'DocumentNotProcessed', 'DocumentConcluded'] as const),
  ...([
    'GroupRegistered',
    'GroupWaiting',
    'GroupPredecessorConcluded',
    'GroupReleased',
    'MemberSent',
    'MemberConcluded',
    'GroupCheckPassed',
    'GroupStartAttempted',
    'GroupStarted',
    'GroupHalted',
    'GroupConcluded',
  ] as const),
  ...(['InboundSeen', 'InboundDownloaded', 'InboundReceiptStored', 'InboundConcluded'] as const),
];

export const PROMISES: Promised[] = [
  {
    seeds: [301, 302, 303, 304, 305, 306, 307, 308, 309, 310],
    leastMinutes: 3,
    leastKills: 27,
    events: ALWAYS,
    crossed: ['waiting', 'unconfirmed', 'sent'],
  },
];
