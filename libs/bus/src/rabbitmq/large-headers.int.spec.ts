import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { deleteTopology, ownPrefix, testBroker } from '../../../../test/support/rabbitmq.js';
import { until } from '../../../../test/support/until.js';
import type { Handled } from '../port.js';
import { RabbitMqBus } from './rabbitmq-bus.js';

const broker = await testBroker();
const url = broker?.url ?? '';
afterAll(() => broker?.stop());

const DELIVERY_LIMIT = 3;
const FAST = { deliveryLimit: DELIVERY_LIMIT, retryFirstMs: 5, retryMostMs: 20, askEveryMs: 10 };
const OUTCOME = { id: 'o-1', topic: 'document.concluded', contentType: 'application/json', body: Buffer.from('{}') };
const CYRILLIC = 'Ж'.repeat(4_000);
const body = Buffer.from('{}');

(broker === undefined ? describe.skip : describe)('a message that cannot, or can hardly, be published again', () => {
  let prefix: string;
  let bus: RabbitMqBus;
  const problems: string[] = [];
  beforeEach(() => {
    problems.length = 0;
    prefix = ownPrefix();
    bus = new RabbitMqBus({ url, prefix, ...FAST, report: (problem) => problems.push(problem) });
  });
  afterEach(async () => {
    await bus.close();
    await deleteTopology(url, prefix);
  });

  /** Handles what is there until there is a dead letter, and a good message after it was handled. */
  async function consume(gateway: RabbitMqBus, handled: Handled): Promise<void> {
    const stop = new AbortController();
    let isPassed = false;
    const ended = gateway.consumeCommands({
      concurrency: 1,
      signal: stop.signal,
      handle: async ({ messageId }) => {
        isPassed ||= messageId === 'good';
        return messageId === 'good' ? { kind: 'done' } : handled;
      },
    });
    await bus.publishCommands([{ messageId: 'good', body }]);
    try {
      await until('the letter', async () => isPassed && (await bus.state()).deadLetters === 1);
    } finally {
      stop.abort();
      await ended;
    }
  }

  it.each([
    ['a long reason', '', 3_900],
    ['a long reason and large headers', 'x'.repeat(7_500), 100],
  ])('with %s is put aside with as much of the reason as fits', async (_, large, atLeast) => {
    await bus.publishCommands([{ messageId: 'm-1', headers: { large }, body }]);
    await consume(bus, { kind: 'dead', code: 'invalid_json', reason: CYRILLIC });
    const letters = await bus.deadLetters({ limit: 10 });
    expect(letters).toMatchObject([{ code: 'invalid_json', messageId: 'm-1', headers: { large } }]);
    const reason = letters[0]?.reason ?? '';
    expect(reason.length).toBeGreaterThan(atLeast);
    expect(CYRILLIC.startsWith(reason)).toBe(true);
    expect(problems).toEqual([]);
  });

  it('with headers of 8,100 bytes is put aside by the broker, for it leaves no room for a reason', async () => {
    await bus.publishCommands([{ messageId: 'm-1', headers: { large: 'x'.repeat(8_100) }, body }]);
    await consume(bus, { kind: 'dead', code: 'invalid_json', reason: 'no JSON' });
    expect(await bus.deadLetters({ limit: 10 })).toMatchObject([{ code: 'delivery_limit', messageId: 'm-1' }]);
    expect(problems).toHaveLength(DELIVERY_LIMIT);
  });

  it('under a user that the broker knows by another name is put aside by the broker', async () => {
    const gateway = new RabbitMqBus({ url, prefix, ...FAST });
    Object.assign(gateway, { ownUser: 'nobody' });
    await bus.publishCommands([{ messageId: 'm-1', body }]);
    try {
      await consume(gateway, { kind: 'postpone', reason: 'not now' });
    } finally {
      await gateway.close();
    }
    expect(await bus.deadLetters({ limit: 10 })).toMatchObject([{ code: 'delivery_limit', messageId: 'm-1' }]);
  });

  it('because its headers are too large does no harm to what is published with it', async () => {
    await bus.publishOutcomes([OUTCOME]);
    const large = { messageId: 'm-1', headers: { large: 'x'.repeat(9_000) }, body };
    const [command, outcome] = await Promise.allSettled([bus.publishCommands([large]), bus.publishOutcomes([OUTCOME])]);
    expect(command).toMatchObject({ reason: { message: expect.stringContaining('8192') as unknown } });
    expect(outcome).toMatchObject({ status: 'fulfilled' });
  });
});
