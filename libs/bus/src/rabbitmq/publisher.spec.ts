import { describe, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { Link } from './link.js';
import { Publisher, type Publication } from './publisher.js';

const refusal = Object.assign(new Error('message rejected by server'), { code: 'NACK' });
const publisherOver = (channel: () => Promise<unknown>): Publisher =>
  new Publisher({ channel, forgetTopology: () => undefined } as unknown as Link, 0);
const message = (name: string): Publication => ({ envelope: { exchange: 'x' }, body: Buffer.from(name) });

/** Fake channels: they refuse each message as often as is said, and remember what came, in order. */
function fakeChannels(refusals: Record<string, number>) {
  const came: string[] = [];
  const fakeChannel = () => ({
    ...{ on: () => undefined, once: () => undefined, off: () => undefined, setMaxListeners: () => undefined },
    ...{ confirmSelect: async () => undefined, close: async () => undefined },
    basicPublish: async (_: unknown, body: Buffer) => {
      const name = body.toString();
      came.push(name);
      refusals[name] = (refusals[name] ?? 0) - 1;
      if (refusals[name] >= 0) throw refusal;
    },
  });
  return { came, publisher: publisherOver(async () => fakeChannel()) };
}

/** The first that is opened confirms nothing. */
class FakeChannel extends EventEmitter {
  isClosed = false;

  constructor(private readonly opened: FakeChannel[]) {
    super();
    opened.push(this);
  }

  readonly confirmSelect = async (): Promise<void> => undefined;
  readonly close = async (): Promise<void> => void (this.isClosed = true);
  readonly basicPublish = (): Promise<void> =>
    this.opened[0] === this ? new Promise<void>(() => undefined) : Promise.resolve();
}

describe('a publisher', () => {
  it('publishes the first message of a channel again when the broker refuses it, and the others after it', async () => {
    const { came, publisher } = fakeChannels({ a: 2 });
    await Promise.all([
      publisher.publish([message('a'), message('b')], 10_000),
      publisher.publish([message('c')], 10_000),
    ]);
    expect(came).toEqual(['a', 'a', 'a', 'b', 'c']);
    await publisher.publish([message('d')], 10_000);
    expect(came.at(-1)).toBe('d');
    await publisher.close();
  });

  it('fails when a later message is refused, and tries a first one no more often than it says', async () => {
    const { came, publisher } = fakeChannels({ b: 1, never: 1_000 });
    await expect(publisher.publish([message('a'), message('b')], 10_000)).rejects.toBe(refusal);
    expect(came).toEqual(['a', 'b']);
    await expect(publisher.publish([message('never')], 60_000)).rejects.toBe(refusal);
    expect(came.filter((name) => name === 'never')).toHaveLength(20);
    await publisher.close();
  });

  it('tries once while nothing is taken: other queues keep what one queue refuses', async () => {
    const { came, publisher } = fakeChannels({ a: 25, b: 2 });
    for (let failed = 0; failed < 6; failed += 1)
      await expect(publisher.publish([message('a')], 60_000)).rejects.toBe(refusal);
    expect(came).toHaveLength(25);
    await publisher.publish([message('a'), message('c')], 10_000);
    expect(came.splice(25)).toEqual(['a', 'c']);
    await publisher.close();
    await publisher.publish([message('b')], 10_000);
    expect(came.splice(25)).toEqual(['b', 'b', 'b']);
    await publisher.close();
  });

  it('publishes nothing where there is nothing', async () => {
    const { came, publisher } = fakeChannels({});
    await publisher.publish([], 10_000);
    await publisher.publish([message('a')], 10_000);
    expect(came).toEqual(['a']);
    await publisher.close();
  });

  it('keeps its channel when one that it has given up ends only now', async () => {
    const opened: FakeChannel[] = [];
    const publisher = publisherOver(async () => new FakeChannel(opened));
    await expect(publisher.publish([message('never')], 1)).rejects.toThrow('did not confirm');
    await publisher.publish([message('a')], 10_000);
    opened[0]?.emit('close');
    await publisher.publish([message('b')], 10_000);
    await publisher.close();
    expect(opened.map(({ isClosed }) => isClosed)).toEqual([true, true]);
  });
});
