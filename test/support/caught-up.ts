import { until } from './until.js';

interface Operations {
  subscriptions: { name: string; lag: string }[];
}

/**
 * Waits until sagas and read models have taken in every event of the log, as the gateway at `url` tells it. A
 * document's stream says that it has ended before the lists, the outcomes and the packs' histories show it.
 */
export async function caughtUp(url: string): Promise<void> {
  await until('every subscription has caught up', async () => {
    const { subscriptions } = (await (await fetch(`${url}/v1/operations`)).json()) as Operations;
    return subscriptions.length > 0 && subscriptions.every((one) => one.lag === '0');
  });
}
