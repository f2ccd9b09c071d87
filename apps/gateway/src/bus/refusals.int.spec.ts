import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { busSchema, PostgresBus, RabbitMqBus, type DeadLetterSummary, type MessageBus } from '#bus';
import { eventStoreSchema, PostgresEventStore } from '#event-store';
import { systemClock } from '#kernel';
import { installationSchema, openPool } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { deleteTopology, ownPrefix, testBroker } from '../../../../test/support/rabbitmq.js';
import { tcpProxy } from '../../../../test/support/tcp-proxy.js';
import { until } from '../../../../test/support/until.js';
import type { CommandBody } from '../intake/command-body.js';
import { BusIntake } from './bus-intake.js';
import { Refusals } from './refusals.js';

const broker = await testBroker();
const SAYS = { participant: 'own', softwareVersion: '0', profile: 'interface-v1' };
const SHORT = { deliveryLimit: 5, retryFirstMs: 5, retryMostMs: 20, askEveryMs: 10 };
const LOG = { error: () => undefined, warn: () => undefined } as never;

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase([installationSchema, eventStoreSchema, busSchema]);
  store = new PostgresEventStore({ pool: db.pool });
});
afterAll(async () => {
  await store.close();
  await db.drop();
  await broker?.stop();
});

interface Given {
  /** Stops for good once it has recorded a refusal. */
  diesAfterRecording?: boolean;
  mostADay?: number;
  take?: (body: CommandBody) => Promise<void>;
}

const failing = async (): Promise<void> => Promise.reject(new Error('nothing is taken here'));

/** A process that takes commands from the bus. */
function gatewayOn(bus: MessageBus, { diesAfterRecording = false, mostADay = 100, take = failing }: Given = {}) {
  const refusals = new Refusals({
    store,
    installationId: '00000000-0000-4000-8000-000000000000',
    says: SAYS,
    clock: systemClock,
    mostADay,
  });
  let letGo = (): void => undefined;
  let died = false;
  const record: Refusals['record'] = async (...args) => {
    await refusals.record(...args);
    if (!diesAfterRecording) return;
    died = true;
    await new Promise<void>((resolve) => (letGo = resolve));
  };
  const intake = { take, hasRoom: async () => true } as never;
  const busIntake = new BusIntake({
    bus,
    intake,
    stockParts: { take: async () => undefined },
    refusals: { record },
    deliveryLimit: SHORT.deliveryLimit,
    authenticatedBy: 'database',
    log: LOG,
  });
  busIntake.start();
  return { died: () => died, stop: () => (letGo(), busIntake.stop()) };
}

interface Doors {
  dying: MessageBus;
  /** As a kill would: nothing that it has in hand is settled. */
  kill(): Promise<void>;
  next: MessageBus;
  stop(): Promise<void>;
}

async function embedded(): Promise<Doors> {
  await db.pool.query('TRUNCATE bus_command, bus_dead_letter');
  const pool = openPool({ connectionString: db.url, maxConnections: 4, applicationName: 'dying' });
  const [dying, next] = [
    new PostgresBus({ pool, ...SHORT, leaseMs: 500 }),
    new PostgresBus({ pool: db.pool, ...SHORT, leaseMs: 500 }),
  ];
  const kill = async (): Promise<void> => {
    await dying.close();
    await pool.end();
  };
  return { dying, kill, next, stop: () => next.close() };
}

async function rabbit(): Promise<Doors> {
  const through = new URL(broker?.url ?? '');
  const proxy = await tcpProxy({ host: through.hostname, port: Number(through.port || 5672) });
  [through.hostname, through.port] = ['127.0.0.1', String(proxy.port)];
  const prefix = ownPrefix();
  const [dying, next] = [
    new RabbitMqBus({ url: through.href, prefix, ...SHORT }),
    new RabbitMqBus({ url: broker?.url ?? '', prefix, ...SHORT }),
  ];
  const stop = async (): Promise<void> => {
    for (const bus of [dying, next]) await bus.close();
    await proxy.close();
    await deleteTopology(broker?.url ?? '', prefix);
  };
  return { dying, kill: async () => proxy.down(), next, stop };
}

const ways: [string, () => Promise<Doors>][] = [
  ['the embedded bus', embedded],
  ...(broker === undefined ? [] : ([['RabbitMQ', rabbit]] as [string, () => Promise<Doors>][])),
];

describe.each(ways)('a command that is refused on %s', (_name, open) => {
  const recorded = async (messageId: string) =>
    (await store.readAll(0n, { filter: { types: ['CommandRefused'] }, limit: 10_000 })).events.filter(
      ({ data }) => data['messageId'] === messageId,
    );

  it(
    'is recorded once, also when the process is killed between the record and the dead letter, and names that ' +
      'letter',
    async () => {
      const doors = await open();
      const messageId = `killed-${_name}`;
      const first = gatewayOn(doors.dying, { diesAfterRecording: true });
      await doors.next.publishCommands([{ messageId, body: Buffer.from('{"command_id":') }]);
      await until('the record', first.died);
      await doors.kill();
      const second = gatewayOn(doors.next);
      // Of the same look: a queue takes a while to show again what was looked at.
      let letters: DeadLetterSummary[] = [];
      await until('the letter', async () => (letters = await doors.next.deadLetters({ limit: 10 })).length === 1);
      const [letter] = letters;
      expect((await recorded(messageId)).map(({ data }) => data)).toMatchObject([
        { deadLetterId: letter?.id, messageId, code: 'invalid_json' },
      ]);
      await first.stop();
      await second.stop();
      await doors.stop();
    },
  );

  it('is recorded when our own code has failed on it as often as it may come', async () => {
    const doors = await open();
    const messageId = `poison-${_name}`;
    const gateway = gatewayOn(doors.next);
    await doors.next.publishCommands([{ messageId, body: Buffer.from('{"command_id":"poison","xml":"<a/>"}') }]);
    let letter: DeadLetterSummary | undefined;
    await until('the letter', async () => {
      letter = (await doors.next.deadLetters({ limit: 10 })).find((one) => one.messageId === messageId);
      return letter !== undefined;
    });
    expect(letter).toMatchObject({
      code: 'delivery_limit',
      deliveries: SHORT.deliveryLimit,
      reason: expect.stringMatching(/delivered 5 times.*nothing is taken here$/) as unknown,
    });
    expect((await recorded(messageId)).map(({ data }) => data)).toMatchObject([
      { deadLetterId: letter?.id, commandId: 'poison', code: 'delivery_limit' },
    ]);
    await gateway.stop();
    await doors.kill();
    await doors.stop();
  });

  it(
    'in a flood of others ends as a dead letter like each of them, is told up to the limit, and holds up no good ' +
      'command',
    async () => {
      const doors = await open();
      const ids = Array.from({ length: 60 }, (_, n) => `flood-${n}-${_name}`);
      await doors.next.publishCommands([
        ...ids.map((messageId) => ({ messageId, body: Buffer.from(`no JSON ${messageId}`) })),
        { body: Buffer.from('{"command_id":"good","xml":"<a/>"}') },
      ]);
      const taken: string[] = [];
      const gateway = gatewayOn(doors.next, {
        mostADay: 5,
        take: async ({ command_id }) => void taken.push(command_id),
      });
      await until('every letter', async () => (await doors.next.state()).deadLetters === ids.length);
      await until('the good one', () => taken.length === 1);
      const told = (await store.readAll(0n, { filter: { types: ['CommandRefused'] }, limit: 10_000 })).events.filter(
        ({ data }) => ids.includes(data['messageId'] as string),
      );
      expect([told.length, told.filter(({ data }) => 'silentUntil' in data).length]).toEqual([5, 1]);
      await gateway.stop();
      await doors.kill();
      await doors.stop();
    },
  );
});
