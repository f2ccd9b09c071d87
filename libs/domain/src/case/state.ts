import { neverReached } from '#kernel';
import type { CaseCause, CaseEnd, CaseEvent, CaseOpened, CaseSeverity, CaseSighting } from './events.js';
import {
  missedBy,
  over,
  revived,
  seenBy,
  sightingsOf,
  splitOff,
  summaryOf,
  type CaseSightings,
  type SeenCase,
} from './sightings.js';

export const CASE_PHASES = ['open', 'acknowledged', 'explained', 'resolved'] as const;
export type CasePhase = (typeof CASE_PHASES)[number];

/** A document that was sent for a case and has not ended. */
interface PendingRemedy {
  requestId: string;
  commandId: string;
  action: string;
}

/** A case that was opened. Bounded, and plain JSON: the read model keeps it beside the version that it stands for. */
export interface KnownCase extends SeenCase {
  phase: CasePhase;
  caseId: string;
  code: string;
  cause: CaseCause;
  dueAt: string;
  assignee: string | null;
  /** For how many items the explanation was given. */
  explainedCount: number | null;
  /** Ids of cases that hold items of this one. */
  parts: string[];
  end: CaseEnd | null;
  /** When a person reopened it last; absent: never. */
  reopenedAt?: string;
  remedy: PendingRemedy | null;
  remedies: number;
  /** The last document that was sent in place of the one that is the cause, and ended rejected or failed. */
  successor?: string;
  /** One that was sent in its place was accepted in part: such a document is not sent again. */
  isTakenInPart?: true;
}

export type CaseState = { phase: 'absent' } | KnownCase;

export const NO_CASE: CaseState = { phase: 'absent' };

/** Parts of one case. */
export const MOST_PARTS = 100;

export function evolveCase(state: CaseState, event: CaseEvent): CaseState {
  if (event.type === 'CaseOpened') return opened(event.data);
  if (state.phase === 'absent') throw new Error(`${event.type} of case ${event.data.caseId}, which was never opened`);
  return { ...state, ...changes(state, event) };
}

/** One plain literal: a run opens tens of thousands, and spreads took an eighth of its time. */
function opened({ caseId, cause, code, dueAt, seen, severity }: CaseOpened['data']): KnownCase {
  return {
    caseId,
    code,
    cause,
    severity,
    dueAt,
    phase: 'open',
    assignee: null,
    firstSeen: seen,
    lastSeen: seen,
    sightings: seenBy({}, seen, severity),
    runsSeen: 1,
    count: seen.count,
    explainedCount: null,
    parts: [],
    end: null,
    resolvedAt: null,
    remedy: null,
    remedies: 0,
  };
}

type Later = Exclude<CaseEvent, { type: 'CaseOpened' }>;

function changes(state: KnownCase, event: Later): Partial<KnownCase> {
  switch (event.type) {
    case 'CaseSeen':
      return seenAgain(state, event.data);
    case 'CaseMissed':
      return withSightings(state, missedBy(sightingsOf(state), event.data.run));
    case 'CaseReopened':
      return reopened(state, event.data);
    case 'CaseAcknowledged':
      return { phase: 'acknowledged' };
    case 'CaseAssigned':
      return { assignee: event.data.assignee };
    case 'CaseCommented':
      return {};
    case 'CaseExplained':
      return { phase: 'explained', explainedCount: event.data.count };
    case 'CaseResolved': {
      const { by: end, at } = event.data;
      return { phase: 'resolved', end, resolvedAt: at, sightings: over(sightingsOf(state), event.data) };
    }
    case 'CaseSplit': {
      const { part, count } = event.data;
      return { ...withSightings(state, splitOff(sightingsOf(state), count)), parts: [...state.parts, part] };
    }
    case 'CaseRemedyReleased': {
      const { action, commandId, requestId } = event.data;
      return { remedy: { action, commandId, requestId }, remedies: state.remedies + 1 };
    }
    case 'CaseRemedyConcluded': {
      const { outcome, requestId } = event.data;
      if (state.remedy?.action !== 'resend' || outcome === 'accepted' || outcome === 'not_taken')
        return { remedy: null };
      return { remedy: null, ...(outcome === 'partial' ? { isTakenInPart: true } : { successor: requestId }) };
    }
    default:
      return neverReached(event, 'case event');
  }
}

/** What was resolved stays so until a run finds it, or a person says that it is not over: then as it was before. */
function reopened(
  state: KnownCase,
  { seen, severity, dueAt, at }: (Later & { type: 'CaseReopened' })['data'],
): Partial<KnownCase> {
  const again = {
    ...({ phase: 'open', dueAt, end: null, resolvedAt: null, explainedCount: null } as const),
    ...(at === undefined ? {} : { reopenedAt: at }),
  };
  return seen === undefined
    ? { ...withSightings(state, revived(sightingsOf(state), state.resolvedAt)), ...again, severity }
    : { ...sighted(state, seen, severity), ...again };
}

function seenAgain(state: KnownCase, { seen, severity, dueAt, news }: (Later & { type: 'CaseSeen' })['data']) {
  const grown = state.explainedCount !== null && (news === true || seen.count > state.explainedCount);
  return {
    ...sighted(state, seen, severity),
    ...(dueAt === undefined ? {} : { dueAt }),
    ...(grown ? ({ phase: 'open', explainedCount: null } as const) : {}),
  };
}

const sighted = (state: KnownCase, seen: CaseSighting, severity: CaseSeverity): Partial<KnownCase> => ({
  ...withSightings(state, seenBy(sightingsOf(state), seen, severity)),
  ...{ lastSeen: seen.run.moment < state.lastSeen.run.moment ? state.lastSeen : seen, runsSeen: state.runsSeen + 1 },
});

const withSightings = (state: KnownCase, sightings: CaseSightings): Partial<KnownCase> => ({
  sightings,
  ...summaryOf(sightings, state),
});
