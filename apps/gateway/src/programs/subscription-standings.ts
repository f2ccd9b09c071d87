import { isThere, type ProgramProcess } from '#service';
import type { SubscriptionLag } from '#subscriptions';

/** How a subscription to the log stands, over all processes. */
export interface SubscriptionStanding {
  name: string;
  position: bigint;
  lag: bigint;
  lagUnit: SubscriptionLag['unit'];
  updatedAt: Date;
  /**
   * `standing_by`: processes wait for one to let go of it. `halted`: one stands at an event. `nobody`: no process that
   * is there has it.
   */
  state: 'running' | 'standing_by' | 'halted' | 'nobody';
  /** Of those that run it, or stand by: host and number. */
  processes: string[];
  /** Of one that halted: since when, and which process failed how often, where and why. */
  since?: Date;
  reason?: string;
}

/** Each subscription that has a checkpoint, by what the processes say that are there. */
export function subscriptionStandings(processes: ProgramProcess[], lags: SubscriptionLag[]): SubscriptionStanding[] {
  const said = processes
    .filter(isThere)
    .flatMap((one) => one.subscriptions.map((subscription) => ({ ...subscription, process: one.process })));
  return lags.map(({ unit, ...lag }) => {
    const own = said.filter((one) => one.name === lag.name);
    const halted = own.find((one) => one.state === 'halted');
    const state =
      halted?.state ??
      (own.some((one) => one.state === 'running') ? 'running' : own.length > 0 ? 'standing_by' : 'nobody');
    const why =
      halted === undefined
        ? {}
        : {
            ...(halted.since === undefined ? {} : { since: new Date(halted.since) }),
            ...(halted.reason === undefined ? {} : { reason: `${halted.process} ${halted.reason}` }),
          };
    return { ...lag, lagUnit: unit, state, processes: [...new Set(own.map((one) => one.process))], ...why };
  });
}
