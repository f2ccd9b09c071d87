import {
  evolveCase,
  NO_CASE,
  sightingsOf,
  type CaseCause,
  type CaseEvent,
  type CaseSighting,
  type KnownCase,
} from '#domain';
import { typedEvent, type RecordedEvent } from '#event-store';
import { RECONCILIATION_CASE, type CaseRow } from './row.js';

/** The row after one more event of its case. Pure; an event that the row already holds changes nothing. */
export function foldCase(row: CaseRow | undefined, recorded: RecordedEvent): CaseRow {
  const { position, version } = recorded;
  if (row !== undefined && position <= row.position) return row;
  const state = evolveCase(row?.state ?? NO_CASE, typedEvent<CaseEvent>(recorded));
  if (state.phase === 'absent') throw new Error(`${recorded.type} of ${recorded.stream} opens no case`);
  const { caseId, code, cause, severity, phase, assignee, firstSeen, lastSeen, runsSeen, count } = state;
  return {
    ...RECONCILIATION_CASE.nulls,
    ...{ caseId, openedPosition: row?.openedPosition ?? position, position, version, code, severity, phase, assignee },
    ...causeColumns(cause),
    ...{ firstSeenAt: new Date(firstSeen.run.moment), lastSeenAt: new Date(lastSeen.run.moment) },
    ...{ runKind: lastSeen.run.kind, lastRun: lastSeen.run.id, runsSeen, itemCount: count },
    ...sightingColumns(state),
    dueAt: new Date(state.dueAt),
    resolvedAt: state.resolvedAt === null ? null : new Date(state.resolvedAt),
    remedyRequestId: state.remedy?.requestId ?? null,
    state,
  };
}

function sightingColumns(state: KnownCase): Pick<CaseRow, 'packsSeenAt' | 'packsRuns' | 'documentsSeenAt'> {
  const { packs, documents } = sightingsOf(state);
  return {
    packsSeenAt: packs === undefined ? null : new Date(packs.seen.run.moment),
    packsRuns: packs === undefined ? [] : runsOf(packs.seen),
    documentsSeenAt: documents === undefined ? null : new Date(documents.seen.run.moment),
  };
}

/** The last one first, then those that have older items of it. */
const runsOf = ({ run, older = [] }: CaseSighting): string[] => [run.id, ...older.map((one) => one.run)];

const SGTIN_LENGTH = 27;
const GTIN_LENGTH = 14;

function causeColumns(cause: CaseCause): Pick<CaseRow, 'causeKind'> & Partial<CaseRow> {
  const { kind, ...about } = cause;
  if (cause.kind !== 'part') return { causeKind: kind, ...about };
  const gtins = new Set(cause.items.map((one) => (one.length === SGTIN_LENGTH ? one.slice(0, GTIN_LENGTH) : null)));
  const [gtin = null] = gtins;
  return { causeKind: kind, partOf: cause.of, gtin: gtins.size === 1 ? gtin : null };
}
