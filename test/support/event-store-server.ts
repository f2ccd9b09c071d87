import { FakeEventStore } from './event-store-fake/fake-event-store.js';

/** A server for the tests of the EventStoreDB adapter. */
export interface EventStoreServer {
  /** Which of the three it is; stands in the titles of the tests. */
  name: string;
  start(): Promise<{ url: string; stop(): Promise<void> }>;
}

/** The image whose server the tests run against where a container engine is; docker/compose.yml names the same. */
export const KURRENTDB_IMAGE = 'kurrentplatform/kurrentdb:25.1.0';
const START_LIMIT_MS = 120_000;
const PORT = 2113;
/** As docker/compose.yml says it. */
const MOST_BYTES = '16000000';

/**
 * Chooses, in this order and once per run: the server that EVENTSTORE_URL names; one in a container, where an engine
 * answers; a fake on the client's own gRPC stubs, which is said in the title of every test that meets it.
 */
export async function eventStoreServer(): Promise<EventStoreServer> {
  const named = process.env['EVENTSTORE_URL'];
  if (named !== undefined && named !== '')
    return {
      name: 'the server of EVENTSTORE_URL',
      start: () => Promise.resolve({ url: named, stop: () => Promise.resolve() }),
    };
  if (await hasContainerEngine()) return { name: `${KURRENTDB_IMAGE} in a container`, start: inContainer };
  return { name: 'a FAKE server on gRPC', start: onFake };
}

async function hasContainerEngine(): Promise<boolean> {
  const { getContainerRuntimeClient } = await import('testcontainers');
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
}

async function inContainer(): Promise<{ url: string; stop(): Promise<void> }> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const container = await new GenericContainer(KURRENTDB_IMAGE)
    .withEnvironment({
      KURRENTDB_INSECURE: 'true',
      KURRENTDB_MEM_DB: 'true',
      KURRENTDB_RUN_PROJECTIONS: 'None',
      KURRENTDB_MAX_APPEND_SIZE: MOST_BYTES,
      KURRENTDB_MAX_APPEND_EVENT_SIZE: MOST_BYTES,
    })
    .withExposedPorts(PORT)
    .withWaitStrategy(Wait.forHttp('/health/live', PORT).forStatusCode(204))
    .withStartupTimeout(START_LIMIT_MS)
    .start();
  return {
    url: `esdb://${container.getHost()}:${container.getMappedPort(PORT)}?tls=false`,
    stop: async () => void (await container.stop()),
  };
}

async function onFake(): Promise<{ url: string; stop(): Promise<void> }> {
  const fake = new FakeEventStore();
  await fake.start();
  return { url: fake.url, stop: () => fake.stop() };
}
