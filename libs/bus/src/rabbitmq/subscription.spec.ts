import { describe, expect, it } from '@jest/globals';
import type { OurChannel } from './channel.js';
import { Subscription } from './subscription.js';

async function harness(prefetch: number) {
  const frames: string[] = [];
  let [ends, answer] = [0, (): void => undefined];
  const channel = {
    basicQos: async ({ prefetchCount }: { prefetchCount: number }) => void frames.push(`qos ${prefetchCount}`),
    basicConsume: async ({ queue }: { queue: string }) => void frames.push(`consume ${queue}`),
    basicCancel: () => (frames.push('cancel'), new Promise<void>((resolve) => (answer = resolve))),
  };
  const subscription = await Subscription.open(channel as unknown as OurChannel, {
    queue: 'q',
    prefetch,
    take: () => undefined,
    left: () => (ends += 1),
  });
  expect(frames.splice(0)).toEqual([`qos ${prefetch}`, 'consume q']);
  return { subscription, frames, answer: () => answer(), ends: () => ends };
}

describe('a subscription that shall end', () => {
  it('is cancelled with the message that fills its prefetch, and never before', async () => {
    const { subscription, frames } = await harness(3);
    subscription.arrived();
    subscription.arrived();
    subscription.leaveWhenFull();
    subscription.settled();
    subscription.arrived();
    expect([frames, subscription.isOpen]).toEqual([[], true]);
    subscription.arrived();
    expect([frames, subscription.isOpen]).toEqual([['cancel'], false]);
  });

  it('is cancelled at once when its prefetch is full, once, and tells when the broker has confirmed it', async () => {
    const { subscription, frames, answer, ends } = await harness(1);
    subscription.arrived();
    subscription.leaveWhenFull();
    subscription.leaveWhenFull();
    const ended = subscription.cancel();
    expect([frames, ends()]).toEqual([['cancel'], 0]);
    answer();
    await ended;
    expect(ends()).toBe(1);
  });

  it('stays when it is wanted again before it is full', async () => {
    const { subscription, frames } = await harness(1);
    subscription.leaveWhenFull();
    subscription.stay();
    subscription.arrived();
    expect([frames, subscription.isFull]).toEqual([[], true]);
  });
});
