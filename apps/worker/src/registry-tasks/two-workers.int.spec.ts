import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { eventStoreServer } from '../../../../test/support/event-store-server.js';
import { FakeRegistry } from '../../test/fake-registry.js';
import {
  asTask,
  eventsOf,
  plannedTasks,
  processOn,
  registerDocument,
  runClaimed,
  runTask,
  storesForSpec,
} from '../../test/test-harness.js';

const server = await eventStoreServer();

/**
 * An account that signs in with a password signs no documents, so what two runs of a send want to record is the same to
 * the byte.
 */
const passwordRegistry = (): FakeRegistry & { sign(): Promise<undefined> } =>
  Object.assign(new FakeRegistry(['ok', 'ok']), { sign: () => Promise.resolve(undefined) }) as never;

/** What one run waits for until another has come so far. */
function gate(): { passed: Promise<undefined>; pass(): Promise<undefined> } {
  let open = (_: undefined): void => undefined;
  const passed = new Promise<undefined>((resolve) => (open = resolve));
  return { passed, pass: () => (open(undefined), passed) };
}

describe.each([
  ['PostgreSQL', undefined],
  [`EventStoreDB, ${server.name}`, server.start],
] as const)('two workers with one send of a password account, the log in %s', (_, logServer) => {
  const stores = storesForSpec({ testDatabase, logServer, beforeAll, afterAll });

  it.each(['at the same moment', 'one after the other, on old memory'])('send it once: %s', async (how) => {
    const registry = passwordRegistry();
    const { requestId } = await registerDocument(stores);
    const [a, b] = [
      processOn({ ...stores, registry, clock: new VirtualClock() }),
      processOn({ ...stores, registry, clock: new VirtualClock() }),
    ];
    await Promise.all([a, b].map((one) => one.documents.state(requestId)));
    const [send] = await plannedTasks(stores.store, requestId);
    // The same task, handed out again because the first lease was believed to have ended.
    const runs = [() => runTask(a, asTask(send!, 1)), () => runTask(b, asTask(send!, 2))] as const;
    if (how === 'at the same moment') await Promise.all(runs.map((run) => run()));
    else for (const run of runs) await run();
    expect(registry.calls.filter((call) => call === 'sendDocument')).toHaveLength(1);
    expect((await eventsOf(stores.store, requestId)).filter((event) => event.type === 'SendAttempted')).toHaveLength(1);
  });

  it('make no attempt under a lease that has run out: whoever has the task by now would take it for dead', async () => {
    const { requestId } = await registerDocument(stores);
    const [send] = await plannedTasks(stores.store, requestId);
    const [registry, clock] = [passwordRegistry(), new VirtualClock()];
    // It stands still before its intent, and nobody has extended its lease.
    registry.sign = (() => Promise.resolve(clock.advance(30_000))) as never;
    const leaseEndMs = clock.monotonicMs() + 30_000;
    const run = runClaimed(processOn({ ...stores, registry, clock }), asTask(send!, 1), leaseEndMs);
    expect(await run).toEqual({ kind: 'give_back' });
    expect((await eventsOf(stores.store, requestId)).map((event) => event.type)).toEqual(['DocumentRegistered']);
    expect(registry.calls).toEqual([]);
  });

  it.each([
    [5_000, 5_000],
    [30_000, 20_000],
  ])('write while the lease surely holds, and for 20 s at most: it holds for %d ms', async (leaseMs, writesMs) => {
    const { requestId } = await registerDocument(stores);
    const [send] = await plannedTasks(stores.store, requestId);
    const [registry, clock] = [passwordRegistry(), new VirtualClock()];
    const untilMs: (number | undefined)[] = [];
    registry.beforeSend = ({ notAfterMonotonicMs }) => Promise.resolve(void untilMs.push(notAfterMonotonicMs));
    await runClaimed(processOn({ ...stores, registry, clock }), asTask(send!, 1), leaseMs);
    expect(untilMs).toEqual([writesMs]);
  });

  it('leave its call to the run that makes it, though the other had looked first and lost its lease', async () => {
    const { requestId } = await registerDocument(stores);
    const [send] = await plannedTasks(stores.store, requestId);
    const [signing, signed, calling, answered] = [gate(), gate(), gate(), gate()];
    const [slow, quick] = [passwordRegistry(), passwordRegistry()];
    slow.sign = (() => signing.pass().then(() => signed.passed)) as never;
    quick.fates.unshift('refused');
    quick.beforeSend = () => calling.pass().then(() => answered.passed);
    const on = (registry: FakeRegistry) => processOn({ ...stores, registry, clock: new VirtualClock() });
    const first = runTask(on(slow), asTask(send!, 1));
    await signing.passed;
    const second = runTask(on(quick), asTask(send!, 2));
    await calling.passed;
    await signed.pass();
    expect(await first).toEqual({ kind: 'give_back' });
    await answered.pass();
    expect(await second).toEqual({ kind: 'done' });
    expect((await eventsOf(stores.store, requestId)).map((event) => event.type)).toEqual([
      ...['DocumentRegistered', 'SendAttempted', 'SendRefused', 'DocumentConcluded'],
    ]);
    expect(slow.calls).toEqual([]);
  });
});
