import { until } from './until.js';

interface Operations {
  subscriptions: { name: string; position: string; lag: string }[];
}

/**
 * Waits until sagas and read models have taken in every event that the log holds now, as the gateway at `url` says.
 * A document's stream says that it has ended before the lists, the outcomes and the packs' histories show it. What is
 * appended meanwhile is not waited for: while the log grows, subscriptions are hardly ever at its end together.
 */
export async function caughtUp(url: string): Promise<void> {
  let end: bigint | undefined;
  await until('every subscription has caught up', async () => {
    const { subscriptions } = (await (await fetch(`${url}/v1/operations`)).json()) as Operations;
    const [first] = subscriptions;
    if (first === undefined) return false;
    end ??= BigInt(first.position) + BigInt(first.lag);
    return subscriptions.every(({ position }) => BigInt(position) >= (end as bigint));
  });
}
