import { neverReached } from '#kernel';
import type {
  ByRegistry,
  Letter,
  PlaceReply,
  ProductSeries,
  SuspensionAction,
  SuspensionEntered,
  SuspensionEvent,
  SuspensionListed,
} from './events.js';
import type { KnownSuspension, LetterVersion, SuspensionState, SuspensionVersion } from './state.js';

/** Versions of one suspension. */
const MOST_VERSIONS = 1_000;

/** What may be asked of a suspension. */
export type SuspensionCommand =
  /** The registry's list names the series, or a decision suspends it. */
  | ({ type: 'List' } & SuspensionListed['data'])
  /** The registry's list names it no more, or no decision suspends it, and that is believed. */
  | ({ type: 'Unlist'; suspensionId: string } & ByRegistry)
  | ({ type: 'Enter' } & SuspensionEntered['data'])
  | { type: 'Match'; suspensionId: string; matches: ProductSeries[] }
  /** A later letter about the same. */
  | ({ type: 'Change'; suspensionId: string; action: SuspensionAction } & Letter)
  | { type: 'Reply'; suspensionId: string; places: PlaceReply[] }
  | { type: 'Close'; suspensionId: string };

/** The events that follow; none when the command says nothing new, or does not fit: `whyNotSuspension` says why. */
export function decideSuspension(state: SuspensionState, command: SuspensionCommand): SuspensionEvent[] {
  if (whyNotSuspension(state, command) !== undefined) return [];
  if (command.type === 'List') return listed(state, command);
  if (command.type === 'Enter') {
    const { type: _, ...data } = command;
    return state.phase === 'absent' ? [{ type: 'SuspensionEntered', data }] : [];
  }
  return state.phase === 'absent' ? [] : ofKnown(state, command);
}

function listed(state: SuspensionState, { type: _, ...data }: SuspensionCommand & { type: 'List' }): SuspensionEvent[] {
  if (state.phase === 'absent') return [{ type: 'SuspensionListed', data }];
  const { gtin: _gtin, series: _series, suspensionId, ...version } = data;
  if (state.newest.action !== 'release' && decisionOf(state.newest) === version.decision?.decisionId) return [];
  return [{ type: 'SuspensionChanged', data: { suspensionId, action: 'suspend', ...version } }];
}

/** The decision that last said how it stands; undefined of a list and a letter. */
const decisionOf = (newest: KnownSuspension['newest']): string | undefined =>
  'decision' in newest ? newest.decision?.decisionId : undefined;

function ofKnown(
  state: KnownSuspension,
  command: Exclude<SuspensionCommand, { type: 'List' | 'Enter' }>,
): SuspensionEvent[] {
  const { suspensionId } = command;
  switch (command.type) {
    case 'Unlist': {
      if (state.newest.action === 'release') return [];
      const { type: _, ...version } = command;
      return [{ type: 'SuspensionChanged', data: { ...version, action: 'release' } }];
    }
    case 'Match': {
      const { type: _, ...data } = command;
      return state.phase !== 'unmatched' && isSame(state.matches, data.matches)
        ? []
        : [{ type: 'SuspensionMatched', data }];
    }
    case 'Change': {
      const { type: _, ...data } = command;
      // A caller that lost the answer repeats it: nobody owes another reply.
      return isSaidBy(state.newest, data) ? [] : [{ type: 'SuspensionChanged', data }];
    }
    case 'Reply':
      return [{ type: 'SuspensionReplied', data: { suspensionId, version: state.versions, places: command.places } }];
    case 'Close':
      return [{ type: 'SuspensionClosed', data: { suspensionId } }];
    default:
      return neverReached(command, 'suspension command');
  }
}

const PARTS = ['action', 'from', 'number', 'date', 'letterSha256'] as const;

const isSaidBy = (version: SuspensionVersion | undefined, letter: LetterVersion): boolean =>
  version !== undefined && 'letterSha256' in version && PARTS.every((part) => version[part] === letter[part]);

const isSame = (before: ProductSeries[], after: ProductSeries[]): boolean =>
  before.length === after.length &&
  before.every(({ gtin, series }, n) => gtin === after[n]?.gtin && series === after[n].series);

/** Why a command does not fit how the suspension stands, in words; undefined where it fits, or says nothing new. */
export function whyNotSuspension(state: SuspensionState, command: SuspensionCommand): string | undefined {
  if (command.type === 'List' || command.type === 'Enter') return whyNotBegun(state, command);
  if (state.phase === 'absent') return 'there is no such suspension';
  switch (command.type) {
    case 'Unlist':
      return undefined;
    case 'Match':
      return state.source !== 'letter' ? 'the registry names the product itself' : undefined;
    case 'Change':
      return whyNotChanged(state, command);
    case 'Reply':
      if (state.phase === 'unmatched') return 'nobody has said yet which products it means: match it first';
      return state.phase === 'closed' ? 'it is closed' : undefined;
    case 'Close':
      if (state.phase === 'closed') return 'it is closed';
      return state.phase === 'replied' ? undefined : 'its newest version has no reply yet';
    default:
      return neverReached(command, 'suspension command');
  }
}

function whyNotChanged({ source, newest, letters, versions }: KnownSuspension, letter: LetterVersion) {
  if (source !== 'letter') return 'it stands by the registry: enter the letter as one of its own';
  // One that comes late must not count again: it may release what a later letter suspends.
  if (!isSaidBy(newest, letter) && letters.some((one) => isSaidBy(one, letter)))
    return 'it had this letter before, and a later letter has changed it since';
  return versions >= MOST_VERSIONS ? `it has ${MOST_VERSIONS} versions` : undefined;
}

function whyNotBegun(state: SuspensionState, command: SuspensionCommand & { type: 'List' | 'Enter' }) {
  if (state.phase === 'absent' || command.type === 'List') return undefined;
  const isRepeat =
    isSaidBy(state.letters[0], command) && state.product === command.product && state.series === command.series;
  return isRepeat ? undefined : 'a letter of this writer, number and date was entered already, with other content';
}
