import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { deleteTopology, ownPrefix, testBroker } from '../../../../test/support/rabbitmq.js';
import { until } from '../../../../test/support/until.js';
import { RabbitMqBus } from './rabbitmq-bus.js';

const broker = await testBroker();
const url = broker?.url ?? '';
afterAll(() => broker?.stop());

const FAST = { reconnectFirstMs: 10, reconnectMostMs: 50, retryFirstMs: 5, retryMostMs: 20, askEveryMs: 10 };
const OUTCOME = { topic: 'document.concluded', contentType: 'application/json', body: Buffer.from('{}') };
const CLOSED_WITHIN_MS = 5_000;
const DELIVERY_LIMIT = 5;

/**
 * Tells the connections of this name alone what an alarm of the broker's memory tells all of them: others use this
 * broker too.
 */
const alarm = (name: string, isOn: boolean): Promise<boolean> | undefined =>
  broker?.control([
    'eval',
    `[rabbit_reader:conserve_resources(proplists:get_value(pid, C), memory, {true, ${String(isOn)}, node()}) ||
      C <- rabbit_networking:connection_info_all([pid, client_properties]),
      {<<"connection_name">>, longstr, <<"${name}", _/binary>>} <- proplists:get_value(client_properties, C)].`,
  ]);

const canBeAlarmed = (await alarm('nobody', true)) === true;
if (!canBeAlarmed) process.stderr.write('SKIPPED: no RabbitMQ that takes rabbitmqctl: nothing is blocked\n');

(canBeAlarmed ? describe : describe.skip)('a broker whose memory is full', () => {
  const prefix = ownPrefix();
  const problems: string[] = [];
  let bus: RabbitMqBus;
  const outcome = (id: string, timeoutMs: number) => bus.publishOutcomes([{ ...OUTCOME, id }], { timeoutMs });

  beforeEach(async () => {
    problems.length = 0;
    const report = (said: string): number => problems.push(said);
    const limits = { deliveryLimit: DELIVERY_LIMIT };
    bus = new RabbitMqBus({ url, prefix, connectionName: prefix, ...FAST, ...limits, report });
    await bus.publishCommands([{ messageId: 'm-1', body: Buffer.from('{}') }]);
    await outcome('o-1', 10_000);
    expect(await alarm(prefix, true)).toBe(true);
    // A broker blocks a connection at its next message.
    await expect(outcome('o-2', 200)).rejects.toThrow('did not confirm');
    await until('the broker’s word', async () => (await bus.state()).blocked !== undefined);
  });
  afterEach(async () => {
    await bus.close();
    await deleteTopology(url, prefix);
  });

  it('is told of, with what waits there, and refuses what is published at once', async () => {
    expect(await bus.state()).toEqual({
      connected: true,
      blocked: 'low on memory',
      commandsWaiting: 1,
      deadLetters: 0,
    });
    expect(problems).toEqual(['RabbitMQ takes no messages now: low on memory']);
    await expect(outcome('o-3', 60_000)).rejects.toThrow('RabbitMQ takes no messages now: low on memory');
  });

  it('still gives commands, and is told that they are done', async () => {
    const stop = new AbortController();
    const seen: (string | undefined)[] = [];
    const ended = bus.consumeCommands({
      concurrency: 1,
      signal: stop.signal,
      handle: async ({ messageId }) => (seen.push(messageId), { kind: 'done' }),
    });
    await until('the command', () => seen.length > 0);
    stop.abort();
    await ended;
    expect(await bus.state()).toMatchObject({ connected: true, commandsWaiting: 0 });
  });

  it('keeps a message whose copy it has no room for, and hands it over when it has room', async () => {
    const stop = new AbortController();
    let isDone = false;
    let isFull = true;
    const ended = bus.consumeCommands({
      concurrency: 1,
      signal: stop.signal,
      handle: async () => {
        isDone = !isFull;
        return isFull ? { kind: 'postpone', reason: 'not now' } : { kind: 'done' };
      },
    });
    const refused = (): number => problems.filter((said) => said.includes('could not be put aside')).length;
    try {
      await until('more refusals than deliveries are allowed', async () => {
        return refused() > DELIVERY_LIMIT || ((await bus.state()).deadLetters ?? 0) > 0;
      });
      expect(await bus.state()).toMatchObject({ deadLetters: 0 });
      isFull = false;
      expect(await alarm(prefix, false)).toBe(true);
      await until('the message', () => isDone);
    } finally {
      stop.abort();
      await ended;
    }
    expect(await bus.state()).toMatchObject({ commandsWaiting: 0, deadLetters: 0 });
  });

  it('takes messages again when it has room', async () => {
    expect(await alarm(prefix, false)).toBe(true);
    await until('the broker’s word', async () => (await bus.state()).blocked === undefined);
    await outcome('o-4', 10_000);
  });

  it('keeps no stop waiting', async () => {
    const begun = performance.now();
    await bus.close();
    expect(performance.now() - begun).toBeLessThan(CLOSED_WITHIN_MS);
  });
});
