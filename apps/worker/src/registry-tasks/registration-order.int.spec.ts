import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Registration } from '#domain';
import type { EventStore } from '#event-store';
import { PedigreeError, VirtualClock } from '#kernel';
import { migrate } from '#postgres';
import { PostgresTaskQueue, runLane, tasksSchema } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { FakeRegistry } from '../../test/fake-registry.js';
import { acceptGroup, processOn, registrationOf, storesForSpec } from '../../test/test-harness.js';
import { lanesOf } from '../lanes.js';

const ACTOR = { kind: 'system', name: 'erp', authenticatedBy: 'test' } as const;
const COMMANDS = 240;
const GROUP_AT = 100;
/** From this document on the log is away, for so many turns. */
const AWAY_AT = 90;
const AWAY_TURNS = 3;

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });
beforeAll(() => migrate(stores.pool, [tasksSchema]));

/** The log, which is away for some turns from one of these documents on. */
function goingAway(registrations: Registration[]): EventStore {
  const from = `document-${registrations[AWAY_AT]?.requestId}`;
  let turns = 0;
  let isTurn = false;
  const store = Object.create(stores.store) as EventStore;
  store.append = (stream, ...rest) => {
    if (!isTurn && (turns > 0 || stream === from)) {
      isTurn = true;
      turns += 1;
      setImmediate(() => (isTurn = false));
    }
    return turns > 0 && turns <= AWAY_TURNS
      ? Promise.reject(new PedigreeError('unavailable', 'the log is away'))
      : stores.store.append(stream, ...rest);
  };
  return store;
}

interface Serving {
  left: number;
  firstBackoffMs: number;
  mostBackoffMs: number;
}

/** Serves the commands by two workers until so many are left. */
async function serveByTwo(store: EventStore, { left = 0, ...soon }: Partial<Serving> = {}): Promise<void> {
  const abort = new AbortController();
  const queues = [1, 2].map(() => new PostgresTaskQueue({ pool: stores.pool }));
  const clock = new VirtualClock(new Date());
  const served = queues.map((queue, n) => {
    const context = processOn({ ...stores, store, registry: new FakeRegistry(), clock });
    const lane = lanesOf(context, ['main']).find(({ name }) => name === 'intake');
    if (lane === undefined) throw new Error('nobody takes commands');
    const by = { queue, holder: `worker ${n}`, signal: abort.signal };
    return runLane({ ...lane, ...soon, ...by, lane: lane.name, batch: 20 });
  });
  await until('all commands have run', async () => {
    const { rows } = await stores.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM task');
    return rows[0]?.n === left;
  });
  abort.abort();
  await Promise.all(served);
  await Promise.all(queues.map((queue) => queue.close()));
}

describe('documents come into being', () => {
  it('in the order of the acknowledgements, by two workers, with a group among them, while the log goes away', async () => {
    const queue = new PostgresTaskQueue({ pool: stores.pool });
    const { group } = await acceptGroup(stores, 40);
    const registrations: Registration[] = [];
    for (let n = 0; n < COMMANDS; n += 1) registrations.push(await registrationOf(stores, crypto.randomUUID()));
    const commands = registrations.map((registration) => ({
      key: `run_command:${registration.requestId}`,
      payload: { registration, actor: ACTOR } as object,
    }));
    commands.splice(GROUP_AT, 0, { key: `run_command:${group.groupId}`, payload: { group, actor: ACTOR } });
    await queue.schedule(
      stores.pool,
      commands.map((one) => ({ ...one, kind: 'run_command', lane: 'intake', dueAt: new Date(0) })),
    );
    await serveByTwo(goingAway(registrations));
    await queue.close();
    const { events } = await stores.store.readAll(0n, {
      filter: { types: ['DocumentRegistered', 'GroupRegistered'] },
      limit: 1_000,
    });
    const members = new Set(group.members.map(({ requestId }) => requestId));
    const order = events.map(({ stream }) => stream.replace(/^(document|group)-/, '')).filter((id) => !members.has(id));
    const expected = registrations.map(({ requestId }) => requestId);
    expected.splice(GROUP_AT, 0, group.groupId);
    expect(order).toEqual(expected);
  });

  it('though a group ahead of them is refused each time as if the log were away', async () => {
    const queue = new PostgresTaskQueue({ pool: stores.pool });
    const { group } = await acceptGroup(stores, 2);
    const registrations = await Promise.all([1, 2, 3].map(() => registrationOf(stores, crypto.randomUUID())));
    const commands = [
      { key: `run_command:${group.groupId}`, payload: { group, actor: ACTOR } as object },
      ...registrations.map((registration) => ({
        key: `run_command:${registration.requestId}`,
        payload: { registration, actor: ACTOR } as object,
      })),
    ];
    await queue.schedule(
      stores.pool,
      commands.map((one) => ({ ...one, kind: 'run_command', lane: 'intake', dueAt: new Date(0) })),
    );
    const store = Object.create(stores.store) as EventStore;
    store.append = (stream, ...rest) =>
      stream === `group-${group.groupId}`
        ? Promise.reject(new PedigreeError('unavailable', 'the statement was too much for the server'))
        : stores.store.append(stream, ...rest);
    await serveByTwo(store, { left: 1, firstBackoffMs: 1, mostBackoffMs: 1 });
    await queue.close();
    const { events } = await stores.store.readAll(0n, { filter: { types: ['DocumentRegistered'] }, limit: 1_000 });
    const streams = events.map(({ stream }) => stream.slice('document-'.length));
    expect(streams.slice(-3)).toEqual(registrations.map(({ requestId }) => requestId));
  });
});
