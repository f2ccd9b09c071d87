import type { CallOutcome, GroupCheck, Groups } from '#registry-client';
import { badOutcome, rawOf, type BadOutcome, type FakeRegistry } from './fake-registry.js';

/**
 * How a start goes. `unknown_*`: no answer came, and the group has begun, never begins, never begins while the next
 * check says no all the same, or begins after the first look at it.
 */
export type StartFate =
  'ok' | 'refused' | 'rate_limited' | 'not_sent' | 'unknown_taken' | 'unknown_lost' | 'unknown_denied' | 'unknown_late';

/**
 * Groups at the registry in memory. A group that is started again begins again, and is counted: nothing here hides a
 * second start.
 */
export class FakeGroups implements Pick<Groups, 'check' | 'start'> {
  /** The request_ids of each group that began, each time it began. */
  readonly started: string[][] = [];
  /** Calls of `start` that came here. */
  starts = 0;
  /** How the next checks go, one after another: no, or without an answer, whatever has begun. */
  readonly nextChecks: ('no' | BadOutcome)[] = [];
  /** Told of each start before anything of it is done. */
  beforeStart: (requestIds: string[]) => Promise<void> = () => Promise.resolve();
  readonly fates: StartFate[];

  constructor(
    private readonly registry: FakeRegistry,
    fates: StartFate[] = [],
  ) {
    this.fates = [...fates];
  }

  check(_account: string, requestIds: string[]): Promise<CallOutcome<GroupCheck>> {
    const next = this.nextChecks.shift();
    if (next !== undefined && next !== 'no') return Promise.resolve(badOutcome(next));
    const missing = requestIds.filter((one) => !this.registry.taken.has(one));
    const hasBegun = this.started.some((ids) => ids.some((one) => requestIds.includes(one)));
    const value: GroupCheck =
      missing.length === 0 && !hasBegun && next === undefined
        ? { canStart: true }
        : { canStart: false, reason: hasBegun ? 'it was started before' : `${missing.length} documents are missing` };
    return Promise.resolve({ kind: 'ok', value, raw: rawOf(JSON.stringify(value)) });
  }

  async start(_account: string, requestIds: string[]): Promise<CallOutcome<null>> {
    await this.beforeStart(requestIds);
    this.starts += 1;
    const fate = this.fates.shift() ?? 'ok';
    switch (fate) {
      case 'ok':
        this.begin(requestIds);
        return { kind: 'ok', value: null, raw: rawOf('{}') };
      case 'unknown_taken':
        this.begin(requestIds);
        return badOutcome('unknown');
      case 'unknown_late':
        this.registry.afterNextStatus = () => this.begin(requestIds);
        return badOutcome('unknown');
      case 'unknown_lost':
        return badOutcome('unknown');
      case 'unknown_denied':
        this.nextChecks.push('no');
        return badOutcome('unknown');
      case 'refused':
      case 'rate_limited':
      case 'not_sent':
        return badOutcome(fate);
    }
  }

  begin(requestIds: string[]): void {
    this.started.push(requestIds);
    for (const documentId of requestIds.flatMap((one) => this.registry.taken.get(one) ?? []))
      this.registry.open.delete(documentId);
  }
}
