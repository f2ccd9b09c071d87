import type { CaseEnd, CaseEvent, CaseSighting } from '#domain';
import { typedEvent, type RecordedEvent } from '#event-store';
import { neverReached } from '#kernel';

function by({ run, count, unjudged }: CaseSighting): string {
  const open = unjudged === undefined ? '' : `, ${unjudged} of which it could not judge`;
  return `the run ${run.id} as of ${run.moment} (${count} items${open})`;
}

function seenWords({ seen, news }: (CaseEvent & { type: 'CaseSeen' })['data']): string {
  const { run, count, unjudged } = seen;
  if (count === unjudged)
    return `Partly over, by the run ${run.id} as of ${run.moment}: ${count} items are left, which it could not judge.`;
  return `Found again by ${by(seen)}.${news === true ? ' The explanation does not cover it: open again.' : ''}`;
}

/** What an event of a case says, in one sentence. */
export function sentenceOfCaseEvent(recorded: RecordedEvent): string {
  const event = typedEvent<CaseEvent>(recorded);
  switch (event.type) {
    case 'CaseOpened':
      return `Opened: found by ${by(event.data.seen)}; due ${event.data.dueAt}.`;
    case 'CaseSeen':
      return seenWords(event.data);
    case 'CaseMissed': {
      const { run } = event.data;
      const by = `the run ${run.id} as of ${run.moment}, of ${run.kind}`;
      return `No longer found by ${by}; it goes on by what other runs have seen.`;
    }
    case 'CaseReopened': {
      const { seen } = event.data;
      return seen === undefined ? 'Reopened by a person.' : `Reopened: found again by ${by(seen)}.`;
    }
    case 'CaseAcknowledged':
      return 'Acknowledged.';
    case 'CaseAssigned':
      return event.data.assignee === null ? 'Assigned to nobody.' : `Assigned to ${event.data.assignee}.`;
    case 'CaseCommented':
      return `Comment: ${event.data.text}`;
    case 'CaseExplained':
      return `Explained, for ${event.data.count} items: ${event.data.text}`;
    case 'CaseResolved':
      return `Resolved ${endWords(event.data.by)}`;
    case 'CaseSplit':
      return `${event.data.count} items became the case ${event.data.part}.`;
    case 'CaseRemedyReleased':
      return `Released: ${event.data.action}, document ${event.data.requestId}.`;
    case 'CaseRemedyConcluded': {
      const { requestId, outcome, why } = event.data;
      return outcome === 'not_taken'
        ? `The document ${requestId} was not sent: ${why}.`
        : `The document ${requestId} ended ${outcome}.`;
    }
    default:
      return neverReached(event, 'case event');
  }
}

/** Who ended a case, and by what. */
function endWords(end: CaseEnd): string {
  switch (end.kind) {
    case 'person':
      return `by a person, ${end.resolution.replaceAll('_', ' ')}: ${end.note}`;
    case 'run':
      return `by the run ${end.run.id} as of ${end.run.moment}, which no longer found it.`;
    case 'receipt':
      return `by the receipt of document ${end.requestId}.`;
    default:
      return neverReached(end, 'end of a case');
  }
}
