import { canonicalJson, defined } from '#kernel';
import type { Attempt } from '../attempt/attempt.js';
import type { DocumentEvent, Hold } from './events.js';
import type { GateFinding, GateHold } from './gate-events.js';
import { isForPredecessor, isFreeWithout, type Waiting } from './hold.js';
import { suspensionsOf, type SuspensionFinding, type SuspensionHold } from './stop-events.js';

/** How a document stands with what is judged right before it is sent. */
export interface AtGate {
  /** How often it was held after its send was planned. Each release has a send of its own. */
  holds: number;
  /** How many of these were before the newest attempt began, and how many before the one before it. */
  holdsAtAttempt?: number;
  holdsAtEarlier?: number;
  /** The number of the newest hold of a person. */
  personHold?: number;
  /** A person waived the hold of the sequence gate: it is not judged again. */
  isPassed?: true;
  /** The sequence gate warned of its packs as they stood then: it is judged again when it was held since. */
  isWarned?: true;
  /** Suspensions in spite of which a person lets it go; `unknown`: whatever series the packs are of. */
  overrides?: string[];
  /** It was said that series are not known. */
  isSuspensionWarned?: true;
}

/** A document that is not sent, with what is known of it from before. */
interface Unsent extends Waiting {
  gate?: AtGate;
  tried?: Attempt;
}

/** Stands for the packs whose series nobody told, among the suspensions that a person overrides. */
const UNKNOWN = 'unknown';

export const gateHoldOf = ({ holds }: Waiting): GateHold | undefined => holds.find((one) => one.kind === 'gate');
export const suspensionHoldOf = ({ holds }: Waiting): SuspensionHold | undefined =>
  holds.find((one) => one.kind === 'suspension');

/** The event of a release: the send after an own hold is another task than the one that the hold has ended. */
export const releasedBy = ({ gate, tried }: Pick<Unsent, 'gate' | 'tried'>): DocumentEvent => ({
  type: 'DocumentReleased',
  data: {
    ...(gate === undefined || gate.holds === 0 ? {} : { gateHolds: gate.holds }),
    ...defined({ attempt: tried?.attempt }),
  },
});

/** Whether the sequence gate has judged it, and let it go. */
export const hasPassed = (gate: AtGate | undefined): boolean => gate?.isPassed === true || gate?.isWarned === true;

/** What was judged before it waited counts no more when it goes on. */
export function gateAtRelease(gate: AtGate | undefined): { gate?: AtGate } {
  if (gate === undefined) return {};
  const { isWarned: _, ...rest } = gate;
  return { gate: rest };
}

/** How it stands after one more hold: own holds are counted. */
export function gateAfterHold(gate: AtGate | undefined, hold: Hold): { gate?: AtGate } {
  if (isForPredecessor(hold)) return defined({ gate });
  const personHold = hold.kind === 'person' ? { personHold: hold.number } : {};
  return { gate: { ...gate, ...personHold, holds: (gate?.holds ?? 0) + 1 } };
}

/** What holds it now counts anew. */
export const gateAtAttempt = (gate: AtGate | undefined): { gate?: AtGate } =>
  gate === undefined ? {} : { gate: { ...gate, holdsAtEarlier: gate.holdsAtAttempt ?? 0, holdsAtAttempt: gate.holds } };

/**
 * Whether a send was planned before a hold that has ended since: another document of the same packs may have gone ahead
 * meanwhile. The send that counts is planned with the release, and an attempt that has begun is of that one. `holds`:
 * how many there were when this one was planned.
 */
export function isPlannedBeforeHold({ gate, send }: { gate?: AtGate; send: Attempt }, holds: number): boolean {
  if (gate === undefined) return false;
  const { holdsAtAttempt = 0, holdsAtEarlier = 0 } = gate;
  return gate.holds > (send.step === 'open' ? holdsAtAttempt : holdsAtEarlier) && gate.holds !== holds;
}

/** Waived once, the sequence gate does not judge it again; a suspension counts again where it is another. */
export function gateAfterWaiver(gate: AtGate | undefined, holds: Hold[]): { gate?: AtGate } {
  const isPassed = holds.some((one) => one.kind === 'gate');
  const overridden = holds.flatMap((one) => (one.kind === 'suspension' ? suspensionsIn(one) : []));
  if (!isPassed && overridden.length === 0) return {};
  const overrides = [...new Set([...(gate?.overrides ?? []), ...overridden])];
  return {
    gate: {
      ...{ holds: 0, ...gate },
      ...(isPassed ? { isPassed: true as const } : {}),
      ...(overrides.length === 0 ? {} : { overrides }),
    },
  };
}

/** All that one is to override, named or not. */
const suspensionsIn = (finding: SuspensionFinding): string[] => [
  ...suspensionsOf(finding),
  ...(finding.unknown === undefined ? [] : [UNKNOWN]),
];

/** Whether a finding names something in spite of which no person lets the document go. */
export const isStoppedBy = (gate: AtGate | undefined, finding: SuspensionFinding): boolean =>
  suspensionsIn(finding).some((one) => gate?.overrides?.includes(one) !== true);

/** What follows when a held document was looked at again. The hold is that of `holdKnownAt`, or another since. */
export function rejudged(
  waiting: Unsent,
  { holdKnownAt, finding }: { holdKnownAt: string; finding: GateFinding },
): DocumentEvent[] {
  const hold = gateHoldOf(waiting);
  if (hold?.knownAt !== holdKnownAt) return [];
  if (finding.packCount > 0)
    return isSame(hold, finding) ? [] : [{ type: 'DocumentHeld', data: { hold: { kind: 'gate', ...finding } } }];
  const lifted: DocumentEvent = { type: 'GateHoldLifted', data: { knownAt: finding.knownAt } };
  return isFreeWithout(waiting, { holds: [hold] }) ? [lifted, releasedBy(waiting)] : [lifted];
}

/** The same where a suspension holds it. Another suspension of its packs takes the place of the one that ended. */
export function rejudgedSuspension(
  waiting: Unsent,
  { holdKnownAt, finding }: { holdKnownAt: string; finding: SuspensionFinding },
): DocumentEvent[] {
  const hold = suspensionHoldOf(waiting);
  if (hold?.knownAt !== holdKnownAt) return [];
  if (isStoppedBy(waiting.gate, finding))
    return suspensionTextOf(hold) === suspensionTextOf(finding)
      ? []
      : [{ type: 'DocumentHeld', data: { hold: { kind: 'suspension', ...finding } } }];
  const lifted: DocumentEvent = { type: 'SuspensionHoldLifted', data: { knownAt: finding.knownAt } };
  return isFreeWithout(waiting, { holds: [hold] }) ? [lifted, releasedBy(waiting)] : [lifted];
}

const isSame = (one: GateFinding, other: GateFinding): boolean => textOf(one) === textOf(other);
const textOf = ({ packs, packCount }: GateFinding): string =>
  [packCount, ...packs.map(({ item, reasons }) => `${item} ${reasons.join(' ')}`)].join('\n');
/** In one form, whatever order the fields of one that comes from the log have. */
const suspensionTextOf = (finding: SuspensionFinding): string => {
  const { series, packCount, unknown } = finding;
  return canonicalJson({ series, packCount, unknown: unknown ?? null, suspensions: suspensionsIn(finding) });
};
