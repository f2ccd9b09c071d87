import type { DocumentEvent } from './events.js';
import type { GateFinding, GateHold } from './gate-events.js';
import { isFreeWithout, type Waiting } from './hold.js';

/** How a document stands with the gate, while it was not sent. */
export interface AtGate {
  /** How often the gate has held it. Each release has a send of its own. */
  holds: number;
  /** A person waived the hold, or a warning was given: it is not judged again. */
  isPassed?: true;
}

export const gateHoldOf = ({ holds }: Waiting): GateHold | undefined => holds.find((one) => one.kind === 'gate');

/** The event of a release: the send after a hold at the gate is another task than the one that the gate has ended. */
export const releasedBy = ({ gate }: { gate?: AtGate }): DocumentEvent => ({
  type: 'DocumentReleased',
  data: gate === undefined || gate.holds === 0 ? {} : { gateHolds: gate.holds },
});

/** What follows when a held document was looked at again. The hold is that of `holdKnownAt`, or another since. */
export function rejudged(
  waiting: Waiting & { gate?: AtGate },
  { holdKnownAt, finding }: { holdKnownAt: string; finding: GateFinding },
): DocumentEvent[] {
  const hold = gateHoldOf(waiting);
  if (hold?.knownAt !== holdKnownAt) return [];
  if (finding.packCount > 0)
    return isSame(hold, finding) ? [] : [{ type: 'DocumentHeld', data: { hold: { kind: 'gate', ...finding } } }];
  const lifted: DocumentEvent = { type: 'GateHoldLifted', data: { knownAt: finding.knownAt } };
  return isFreeWithout(waiting, [hold]) ? [lifted, releasedBy(waiting)] : [lifted];
}

const isSame = (one: GateFinding, other: GateFinding): boolean => textOf(one) === textOf(other);
const textOf = ({ packs, packCount }: GateFinding): string =>
  [packCount, ...packs.map(({ item, reasons }) => `${item} ${reasons.join(' ')}`)].join('\n');
