import type { AfterHold, DocumentReference } from '#domain';
import type { HoldShown } from '../port.js';

/** A predecessor that ended badly, as the rows of documents and groups keep it. */
export interface HeldFor {
  commandId: string;
  requestId: string;
  outcome: AfterHold['outcome'];
  /** ISO 8601. */
  since: string;
}

/** What stands in the way of a document or a group, as its row keeps it. */
export interface HeldRow {
  waitingFor: DocumentReference[];
  heldFor: HeldFor[];
}

type HoldChange = { predecessor: string } | { hold: AfterHold; at: Date } | { waived: AfterHold[] };

/** The row after one more event of waiting: a predecessor ended well, or badly, or a person waived holds. */
export function changedHolds(
  { waitingFor, heldFor }: HeldRow,
  change: HoldChange,
): HeldRow & { phase: 'waiting' | 'held' } {
  if ('waived' in change)
    return withPhase({
      waitingFor,
      heldFor: heldFor.filter((one) => !change.waived.some(({ for: { requestId } }) => requestId === one.requestId)),
    });
  const about = 'hold' in change ? change.hold.for.requestId : change.predecessor;
  const rest = {
    waitingFor: waitingFor.filter((one) => one.requestId !== about),
    heldFor: heldFor.filter((one) => one.requestId !== about),
  };
  if (!('hold' in change)) return withPhase(rest);
  const { for: predecessor, outcome } = change.hold;
  return withPhase({
    ...rest,
    heldFor: [...rest.heldFor, { ...predecessor, outcome, since: change.at.toISOString() }],
  });
}

const withPhase = (row: HeldRow): HeldRow & { phase: 'waiting' | 'held' } => ({
  ...row,
  phase: row.heldFor.length > 0 ? 'held' : 'waiting',
});

/**
 * Everything that keeps it from being sent. What merely waits is released by the log alone; a bad end a person may
 * waive.
 */
export function holdsOf({ waitingFor, heldFor, registeredAt }: HeldRow & { registeredAt: Date }): HoldShown[] {
  const waits: HoldShown[] =
    waitingFor.length === 0
      ? []
      : [
          {
            kind: 'after',
            since: registeredAt.toISOString(),
            for: waitingFor.map(({ commandId, requestId }) => ({ commandId, requestId })),
            waivableBy: 'nobody',
          },
        ];
  return [
    ...waits,
    ...heldFor.map(({ since, ...predecessor }): HoldShown => ({
      kind: 'after',
      since,
      for: [predecessor],
      waivableBy: 'operator',
    })),
  ];
}
