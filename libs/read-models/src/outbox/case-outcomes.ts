import type { CaseOpened, CaseReopened, CaseResolved } from '#domain';
import { typedEvent, type RecordedEvent } from '#event-store';
import { foldCase } from '../cases/fold.js';
import type { CaseRow } from '../cases/row.js';
import { wordsForCase } from '../cases/words.js';
import { present } from '../list-page.js';
import type { OutcomePayload } from './outcome-payload.js';

type Told = CaseOpened | CaseReopened | CaseResolved;

/** The types of a case's event that the ERP is told of. That it was seen again, and what persons note, is ours. */
export const CASE_OUTCOMES = ['CaseOpened', 'CaseReopened', 'CaseResolved'] as const satisfies Told['type'][];

/** A case was opened, reopened or resolved; `history`: its stream up to that. */
export function caseTold(history: RecordedEvent[]): OutcomePayload {
  const row = history.reduce<CaseRow | undefined>(foldCase, undefined);
  const newest = history.at(-1);
  if (row === undefined || newest === undefined) throw new Error('a case is told of that was never opened');
  const event = typedEvent<Told>(newest);
  const subject = row.caseId;
  if (event.type === 'CaseResolved')
    return {
      ...{ type: 'pedigree.case.resolved.v1', topic: 'case.resolved', subject },
      data: { ...fieldsOf(row), ...endOf(event.data) },
    };
  return {
    ...{ type: 'pedigree.case.opened.v1', topic: `case.opened.${row.severity}`, subject },
    data: { ...fieldsOf(row), due_at: row.dueAt.toISOString(), reopened: event.type === 'CaseReopened' },
  };
}

function fieldsOf(row: CaseRow) {
  const { caseId: case_id, code, severity, causeKind: cause, itemCount: item_count, state, position } = row;
  const { document, container, gtin, series, place, partOf } = row;
  const { kind, id, moment } = state.lastSeen.run;
  return {
    ...{ case_id, code, severity, cause, ...present({ document, container, gtin, series, place, part_of: partOf }) },
    ...{ item_count, ...wordsForCase(state), run: { kind, id, moment } },
    ...{ known_at: String(position), href: `/v1/cases/${case_id}` },
  };
}

function endOf({ at, by }: CaseResolved['data']) {
  const resolved = { resolved_at: at, resolved_by: by.kind };
  switch (by.kind) {
    case 'person':
      return { ...resolved, resolution: by.resolution, note: by.note };
    case 'run':
      return { ...resolved, resolved_by_run: by.run.id };
    case 'receipt':
      return { ...resolved, ...present({ request_id: by.requestId, receipt_sha256: by.receiptSha256 }) };
  }
}
