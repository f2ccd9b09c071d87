import { FakeEventStore } from './fake-event-store.js';

/**
 * The fake as a process of its own, so that its work is not taken for that of whoever calls it: `node
 * dist/test/support/event-store-fake/process.js`. Prints its address as EVENTSTORE_URL takes it, and serves until a
 * signal, or until the parent that forked it is gone.
 */
const fake = new FakeEventStore();
await fake.start();
process.stdout.write(`${fake.url}\n`);
process.send?.(fake.url);
const end = (): void => process.exit(0);
for (const ending of ['SIGINT', 'SIGTERM', 'disconnect']) process.on(ending, end);
