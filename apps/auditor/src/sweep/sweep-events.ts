import { newEvent, SOFTWARE_VERSION, type Actor, type EventStore } from '#event-store';
import { canonicalJson, uuid5, type JsonObject } from '#kernel';
import type { FindingRecorder } from './finding-book.js';
import type { KeptFinding, PassState } from './state-file.js';

/** The stream in which sweeps tell what they have found. */
export const SWEEP_STREAM = 'audit-sweep';

interface SweepTeller {
  store: Pick<EventStore, 'append'>;
  /** Namespace of event ids. */
  installation: () => Promise<string>;
  participant: string;
  profile: string;
  actor: Actor;
  now: () => Date;
}

/**
 * Appends to the log what a sweep has found. The id of an event follows from what was found, so that several auditors,
 * and a run that a crash ended, tell it once.
 */
export class SweepEvents implements FindingRecorder {
  constructor(private readonly teller: SweepTeller) {}

  found({ what, where, expected, found, firstPass, times }: KeptFinding): Promise<void> {
    const words = { what, where, expected, found };
    const cause = canonicalJson({ ...words, times });
    return this.append('AuditFindingRecorded', `finding ${cause}`, { ...words, pass: firstPass });
  }

  gone({ what, where, expected, found, times }: KeptFinding, pass: number): Promise<void> {
    const cause = canonicalJson({ what, where, expected, found, times });
    return this.append('AuditFindingGone', `gone ${cause}`, { what, where, pass });
  }

  /** What a whole pass has looked at, and how much it found. */
  ended(pass: number, begun: PassState, { open, skipped }: { open: number; skipped: string[] }): Promise<void> {
    const { begunAt, checkpoint, breaks, counts, untold } = begun;
    const [origin = '', size = ''] = checkpoint.split('\n');
    return this.append('AuditSweepEnded', `sweep ${begunAt} ${pass} ${checkpoint}`, {
      pass,
      begunAt,
      origin,
      size: Number(size),
      breaks,
      ...counts,
      findings: open,
      untold,
      skipped,
    });
  }

  private async append(type: string, from: string, data: JsonObject): Promise<void> {
    const { store, installation, participant, profile, actor, now } = this.teller;
    const id = uuid5(from, await installation());
    const says = { participant, profile, softwareVersion: SOFTWARE_VERSION };
    const cause = { says, actor, at: now(), id, correlationId: SWEEP_STREAM, causationId: id };
    await store.append(SWEEP_STREAM, 'any', [newEvent({ type, data }, cause)]);
  }
}
