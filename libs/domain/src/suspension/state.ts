import { neverReached } from '#kernel';
import type {
  ByRegistry,
  Letter,
  PlaceReply,
  ProductSeries,
  SuspensionAction,
  SuspensionEvent,
  SuspensionSource,
} from './events.js';

/**
 * `unmatched`: nobody has said which packs the letter means. `open`: a reply to its newest version is owed. `replied`:
 * it was given. `closed`: a person is done with it.
 */
export const SUSPENSION_PHASES = ['unmatched', 'open', 'replied', 'closed'] as const;
export type SuspensionPhase = (typeof SUSPENSION_PHASES)[number];

/** What last said how the series stands. */
export type SuspensionVersion = ({ action: SuspensionAction } & ByRegistry) | LetterVersion;

/** A letter, and what it says. */
export type LetterVersion = { action: SuspensionAction } & Letter;

/** Bounded, and plain JSON: the read model keeps it without the letters. */
export interface KnownSuspension {
  phase: SuspensionPhase;
  suspensionId: string;
  source: SuspensionSource;
  /** As the letter writes them; of a series of the registry's lists GTIN and series. */
  product: string;
  series: string;
  matches: ProductSeries[];
  /** Of how many versions the newest one is `newest`. */
  versions: number;
  newest: SuspensionVersion;
  /** All its letters, the first one first. */
  letters: LetterVersion[];
  reply: { version: number; places: PlaceReply[] } | null;
}

export type SuspensionState = { phase: 'absent' } | KnownSuspension;

export const NO_SUSPENSION: SuspensionState = { phase: 'absent' };

/** Whether its packs must not be sold or sent on. */
export const isInForce = ({ newest }: Pick<KnownSuspension, 'newest'>): boolean => newest.action !== 'release';

/** The state after one event. Throws on an event that cannot follow: the stream is damaged. */
export function evolveSuspension(state: SuspensionState, event: SuspensionEvent): SuspensionState {
  if (event.type === 'SuspensionListed' || event.type === 'SuspensionEntered') {
    if (state.phase !== 'absent') throw new Error(`${event.type} in phase ${state.phase}`);
    return begun(event);
  }
  const { phase } = state;
  if (phase === 'absent') throw new Error(`${event.type} of ${event.data.suspensionId}, which never began`);
  switch (event.type) {
    case 'SuspensionMatched':
      return { ...state, matches: event.data.matches, phase: 'open', reply: null };
    case 'SuspensionChanged': {
      const { suspensionId: _, ...newest } = event.data;
      const after = phase === 'unmatched' ? phase : 'open';
      const letters = 'letterSha256' in newest ? [...state.letters, newest] : state.letters;
      return { ...state, phase: after, newest, letters, versions: state.versions + 1, reply: null };
    }
    case 'SuspensionReplied': {
      if (phase === 'unmatched') throw new Error('SuspensionReplied in phase unmatched');
      const { version, places } = event.data;
      return { ...state, phase: 'replied', reply: { version, places } };
    }
    case 'SuspensionClosed':
      if (phase !== 'replied') throw new Error(`SuspensionClosed in phase ${phase}`);
      return { ...state, phase: 'closed' };
    default:
      return neverReached(event, 'suspension event');
  }
}

type Beginning = Extract<SuspensionEvent, { type: 'SuspensionListed' | 'SuspensionEntered' }>;

function begun(event: Beginning): KnownSuspension {
  const { suspensionId } = event.data;
  if (event.type === 'SuspensionListed') {
    const { suspensionId: _, gtin, series, ...version } = event.data;
    const newest = { action: 'suspend', ...version } as const;
    const about = { suspensionId, source: version.decision === undefined ? 'list' : 'decision' } as const;
    const matches = [{ gtin, series }];
    return { phase: 'open', ...about, product: gtin, series, matches, versions: 1, newest, letters: [], reply: null };
  }
  const { suspensionId: _, product, series, ...newest } = event.data;
  const about = { suspensionId, source: 'letter', product, series } as const;
  return { phase: 'unmatched', ...about, matches: [], versions: 1, newest, letters: [newest], reply: null };
}
