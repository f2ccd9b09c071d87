import { expect, it } from '@jest/globals';
import type { EventStoreDBClient } from '@eventstore/db-client';
import { scanAll } from './read.js';

/** A server's log of so many events of its own, then one of ours, and how often it was asked. */
function logOf(system: number) {
  const names = [...Array.from({ length: system }, () => '$stats'), 'ours'];
  const asked = { reads: 0, events: 0 };
  const readAll = async function* ({ fromPosition, maxCount }: { fromPosition: unknown; maxCount: number }) {
    const from = typeof fromPosition === 'string' ? 1 : Number((fromPosition as { commit: bigint }).commit);
    asked.reads += 1;
    for (let at = from; at < from + maxCount && at <= names.length; at += 1) {
      asked.events += 1;
      const position = { commit: BigInt(at), prepare: BigInt(at) };
      yield await Promise.resolve({
        event: {
          ...{ id: `id-${at}`, revision: 0n, type: 'Noted', streamId: names[at - 1], isJson: true },
          ...{ data: {}, metadata: { log: { schemaVersion: 1 } }, created: new Date(0), position },
        },
      });
    }
  };
  return { asked, client: { readAll } as unknown as EventStoreDBClient };
}

const look = (client: EventStoreDBClient) =>
  scanAll(client, 0n, { filter: undefined, limit: 1, maxScan: 1_000, upcast: undefined });

it("asks a few times for one event that lies behind many of the server's own", async () => {
  const { asked, client } = logOf(800);
  expect(await look(client)).toMatchObject({ events: [{ stream: 'ours' }], readUpTo: 801n });
  expect(asked.reads).toBeLessThan(5);
});

it('takes no more than it was asked for where there are none', async () => {
  const { asked, client } = logOf(0);
  expect(await look(client)).toMatchObject({ events: [{ stream: 'ours' }], readUpTo: 1n });
  expect(asked).toEqual({ reads: 1, events: 1 });
});

it('looks at no more events than it may', async () => {
  const { client } = logOf(1_500);
  expect(await look(client)).toEqual({ events: [], readUpTo: 1_000n });
});
