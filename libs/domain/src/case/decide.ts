import { neverReached, type Sha256 } from '#kernel';
import { CASE_SEVERITIES } from './events.js';
import type {
  CaseCause,
  CaseEnd,
  CaseEvent,
  CaseOpened,
  CaseRemedyConcluded,
  CaseRemedyReleased,
  CaseRun,
  CaseSighting,
  CaseSplit,
} from './events.js';
import { goesOnWithout, isNewer, liveSighting } from './sightings.js';
import { MOST_PARTS, type CaseState, type KnownCase } from './state.js';

/**
 * `basis`: the run, of the same kind, whose sighting had the items that were judged; null: none had any. Absent:
 * whatever it has.
 */
interface Judged {
  basis?: string | null;
  /** How many parts the case had when its items were read; absent: nobody has counted them. */
  parts?: number;
}

/** What may be asked of a case. Moments are ISO 8601. */
export type CaseCommand =
  /**
   * A run found it. `hasNew`: among its items are some that the last sighting did not have. `onlyKnown`: what is no
   * case, or none any more, becomes none. `since`: when what is wrong came about, where that is known.
   */
  | ({ type: 'See'; hasNew?: boolean; onlyKnown?: boolean; since?: string } & Judged & CaseOpened['data'])
  /** A run that looked for it did not find it. */
  | ({ type: 'Miss'; caseId: string; run: CaseRun; findingsSha256: Sha256 } & Judged)
  | { type: 'Acknowledge'; caseId: string }
  | { type: 'Assign'; caseId: string; assignee: string | null }
  | { type: 'Comment'; caseId: string; text: string }
  | { type: 'Explain'; caseId: string; text: string }
  | { type: 'Resolve'; caseId: string; at: string; by: CaseEnd & { kind: 'person' } }
  | { type: 'Reopen'; caseId: string; at: string; dueAt: string }
  | ({ type: 'Split' } & CaseSplit['data'])
  | ({ type: 'ReleaseRemedy' } & CaseRemedyReleased['data'])
  | ({ type: 'ConcludeRemedy'; at: string } & CaseRemedyConcluded['data']);

/** The events that follow; none when the command says nothing new, or does not fit where the case stands. */
export function decideCase(state: CaseState, command: CaseCommand): CaseEvent[] {
  if (isStale(state, command) || isNoCase(state, command)) return [];
  if (command.type === 'See') return seen(state, command);
  if (state.phase === 'absent') return [];
  if (command.type === 'Reopen') return reopened(state, command);
  if (command.type === 'Comment') {
    const { caseId, text } = command;
    return [{ type: 'CaseCommented', data: { caseId, text } }];
  }
  if (command.type === 'ConcludeRemedy') return remedyConcluded(state, command);
  return state.phase === 'resolved' ? [] : ofUnresolved(state, command);
}

/**
 * Whether another run has told the case since its items were judged, or a person has taken some out: it has others
 * now, which the command would take out, or count twice. It has to be made again.
 */
export function isStale(state: CaseState, command: CaseCommand): boolean {
  if (command.type !== 'See' && command.type !== 'Miss') return false;
  const run = command.type === 'See' ? command.seen.run : command.run;
  if (command.basis === undefined || state.phase === 'absent' || !isNewer(state, run)) return false;
  if (command.parts !== undefined && command.parts < state.parts.length) return true;
  return (liveSighting(state, run.kind)?.seen.run.id ?? null) !== command.basis;
}

const isNoCase = ({ phase }: CaseState, command: CaseCommand): boolean =>
  command.type === 'See' && command.onlyKnown === true && (phase === 'absent' || phase === 'resolved');

type See = CaseCommand & { type: 'See' };

function seen(
  state: CaseState,
  { type: _, hasNew = false, onlyKnown: _onlyKnown, basis: _basis, parts: _parts, since, ...data }: See,
): CaseEvent[] {
  if (state.phase === 'absent') return [{ type: 'CaseOpened', data }];
  const { caseId, severity, seen: sighting, dueAt } = data;
  if (!isNewer(state, sighting.run) || !counts(state, sighting)) return [];
  if (wasKnown(state, since)) return [];
  if (state.phase === 'resolved') return [{ type: 'CaseReopened', data: { caseId, dueAt, seen: sighting, severity } }];
  const isWorse = CASE_SEVERITIES.indexOf(severity) < CASE_SEVERITIES.indexOf(state.severity);
  const earlier = isWorse && dueAt < state.dueAt ? { dueAt } : {};
  const news = newsOf(state, isWorse || hasNew);
  return [{ type: 'CaseSeen', data: { caseId, ...earlier, ...news, seen: sighting, severity } }];
}

/**
 * Whether it may change the case: a resolved one when it found some items, and not when all are carried. What a run has
 * judged before a person opened the case again takes no item out.
 */
function counts(state: KnownCase, { count, unjudged, run: { kind, moment } }: CaseSighting): boolean {
  if (state.phase === 'resolved') return moment > (state.resolvedAt ?? '') && unjudged !== count;
  return liveSighting(state, kind) === undefined || moment > (state.reopenedAt ?? '');
}

const newsOf = ({ phase }: KnownCase, isNews: boolean): { news?: true } =>
  phase === 'explained' && isNews ? { news: true } : {};

/** A person who resolved the case knew it: it is no news. */
const wasKnown = ({ end, resolvedAt }: KnownCase, since: string | undefined): boolean =>
  end?.kind === 'person' && since !== undefined && since <= (resolvedAt ?? '');

function reopened(state: KnownCase, { caseId, at, dueAt }: CaseCommand & { type: 'Reopen' }): CaseEvent[] {
  return state.phase === 'resolved'
    ? [{ type: 'CaseReopened', data: { at, caseId, severity: state.severity, dueAt } }]
    : [];
}

/** An accepted receipt ends it, unless a run has found it, or a person opened it, at that moment or behind it. */
function remedyConcluded(
  state: KnownCase,
  { type: _, at, ...data }: CaseCommand & { type: 'ConcludeRemedy' },
): CaseEvent[] {
  if (state.remedy?.requestId !== data.requestId) return [];
  const { caseId, outcome, ...receipt } = data;
  const concluded: CaseEvent = { type: 'CaseRemedyConcluded', data };
  const isBehind = [state.lastSeen.run.moment, state.reopenedAt ?? ''].every((moment) => moment < at);
  return outcome === 'accepted' && state.phase !== 'resolved' && isBehind
    ? [concluded, { type: 'CaseResolved', data: { caseId, at, by: { kind: 'receipt', ...receipt } } }]
    : [concluded];
}

type OfUnresolved = Exclude<CaseCommand, { type: 'See' | 'Reopen' | 'Comment' | 'ConcludeRemedy' }>;

function ofUnresolved(state: KnownCase, command: OfUnresolved): CaseEvent[] {
  const { caseId } = command;
  switch (command.type) {
    case 'Miss':
      return missed(state, command);
    case 'Acknowledge':
      return state.phase === 'open' ? [{ type: 'CaseAcknowledged', data: { caseId } }] : [];
    case 'Assign':
      return state.assignee === command.assignee
        ? []
        : [{ type: 'CaseAssigned', data: { caseId, assignee: command.assignee } }];
    case 'Explain':
      return [{ type: 'CaseExplained', data: { caseId, text: command.text, count: state.count } }];
    case 'Resolve':
      return [{ type: 'CaseResolved', data: { caseId, at: command.at, by: command.by } }];
    case 'Split':
      return split(state, command);
    case 'ReleaseRemedy': {
      const { type: _, ...data } = command;
      return state.remedy === null ? [{ type: 'CaseRemedyReleased', data }] : [];
    }
    default:
      return neverReached(command, 'case command');
  }
}

/**
 * It is over for runs of this kind; and resolved, unless those of the other kind have seen it. While a document that
 * was sent for it has not ended, it may be that alone which hides the case.
 */
function missed(state: KnownCase, { caseId, run, findingsSha256 }: CaseCommand & { type: 'Miss' }): CaseEvent[] {
  const last = liveSighting(state, run.kind)?.seen.run.moment;
  if (last === undefined || state.remedy !== null || run.moment <= last || run.moment <= (state.reopenedAt ?? ''))
    return [];
  if (goesOnWithout(state, run.kind)) return [{ type: 'CaseMissed', data: { caseId, findingsSha256, run } }];
  return [{ type: 'CaseResolved', data: { at: run.moment, by: { findingsSha256, kind: 'run', run }, caseId } }];
}

function split(state: KnownCase, { type: _, ...data }: CaseCommand & { type: 'Split' }): CaseEvent[] {
  const fits = state.parts.length < MOST_PARTS && !state.parts.includes(data.part) && isSplittable(state.cause);
  return fits && data.count < state.count ? [{ type: 'CaseSplit', data }] : [];
}

/** A document is one thing, and a part is not divided again: its items are named already. */
export const isSplittable = ({ kind }: CaseCause): boolean => kind !== 'part';
