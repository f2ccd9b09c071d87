import { neverReached } from '#kernel';
import type { CaseCause, CaseEnd, CaseEvent, CaseSeverity, CaseSighting } from './events.js';

export const CASE_PHASES = ['open', 'acknowledged', 'explained', 'resolved'] as const;
export type CasePhase = (typeof CASE_PHASES)[number];

/** A document that was sent for a case and has not ended. */
interface PendingRemedy {
  requestId: string;
  commandId: string;
  action: string;
}

/** A case that was opened. Bounded, and plain JSON: the read model keeps it beside the version that it stands for. */
export interface KnownCase {
  phase: CasePhase;
  caseId: string;
  code: string;
  cause: CaseCause;
  severity: CaseSeverity;
  dueAt: string;
  assignee: string | null;
  firstSeen: CaseSighting;
  lastSeen: CaseSighting;
  runsSeen: number;
  /** Items as of the last sighting, without those of parts that were taken out since. */
  count: number;
  /** Runs of the same moment as the last one. */
  runsOfMoment: string[];
  /** For how many items the explanation was given. */
  explainedCount: number | null;
  /** Ids of cases that hold items of this one. */
  parts: string[];
  end: CaseEnd | null;
  /** Set while resolved. */
  resolvedAt: string | null;
  /** When a person reopened it last; absent: never. */
  reopenedAt?: string;
  remedy: PendingRemedy | null;
  remedies: number;
}

export type CaseState = { phase: 'absent' } | KnownCase;

export const NO_CASE: CaseState = { phase: 'absent' };

/** Parts of one case. */
export const MOST_PARTS = 100;
const MOST_RUNS_OF_MOMENT = 100;

export function evolveCase(state: CaseState, event: CaseEvent): CaseState {
  if (event.type === 'CaseOpened') return opened(event.data);
  if (state.phase === 'absent') throw new Error(`${event.type} of case ${event.data.caseId}, which was never opened`);
  return { ...state, ...changes(state, event) };
}

function opened({ seen, ...data }: (CaseEvent & { type: 'CaseOpened' })['data']): KnownCase {
  return {
    ...data,
    ...{ phase: 'open', assignee: null, firstSeen: seen, lastSeen: seen, runsSeen: 1, count: seen.count },
    ...{ runsOfMoment: [seen.run.id], explainedCount: null, parts: [], end: null, resolvedAt: null },
    ...{ remedy: null, remedies: 0 },
  };
}

type Later = Exclude<CaseEvent, { type: 'CaseOpened' }>;

function changes(state: KnownCase, event: Later): Partial<KnownCase> {
  switch (event.type) {
    case 'CaseSeen':
      return seenAgain(state, event.data);
    case 'CaseReopened': {
      const { seen, severity, dueAt, at } = event.data;
      const again = {
        ...({ phase: 'open', severity, dueAt, end: null, resolvedAt: null, explainedCount: null } as const),
        ...(at === undefined ? {} : { reopenedAt: at }),
      };
      return seen === undefined ? again : { ...sighted(state, seen), ...again };
    }
    case 'CaseAcknowledged':
      return { phase: 'acknowledged' };
    case 'CaseAssigned':
      return { assignee: event.data.assignee };
    case 'CaseCommented':
      return {};
    case 'CaseExplained':
      return { phase: 'explained', explainedCount: event.data.count };
    case 'CaseResolved':
      return { phase: 'resolved', end: event.data.by, resolvedAt: event.data.at };
    case 'CaseSplit': {
      const { part, count } = event.data;
      return { parts: [...state.parts, part], count: Math.max(0, state.count - count) };
    }
    case 'CaseRemedyReleased': {
      const { caseId: _, ...remedy } = event.data;
      return { remedy, remedies: state.remedies + 1 };
    }
    case 'CaseRemedyConcluded':
      return { remedy: null };
    default:
      return neverReached(event, 'case event');
  }
}

function seenAgain(state: KnownCase, { seen, severity, dueAt, news }: (Later & { type: 'CaseSeen' })['data']) {
  const grown = state.explainedCount !== null && (news === true || seen.count > state.explainedCount);
  return {
    ...sighted(state, seen),
    severity,
    ...(dueAt === undefined ? {} : { dueAt }),
    ...(grown ? ({ phase: 'open', explainedCount: null } as const) : {}),
  };
}

const sighted = (state: KnownCase, seen: CaseSighting): Partial<KnownCase> => ({
  lastSeen: seen,
  count: seen.count,
  runsSeen: state.runsSeen + 1,
  runsOfMoment:
    state.lastSeen.run.moment === seen.run.moment
      ? [...state.runsOfMoment, seen.run.id].slice(-MOST_RUNS_OF_MOMENT)
      : [seen.run.id],
});
