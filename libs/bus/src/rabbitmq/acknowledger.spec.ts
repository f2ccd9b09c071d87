import { describe, expect, it } from '@jest/globals';
import { Acknowledger } from './acknowledger.js';

function harness() {
  const frames: string[] = [];
  const channel = {
    active: true,
    basicAck: ({ deliveryTag, multiple = false }: { deliveryTag?: number; multiple?: boolean }) =>
      void frames.push(`ack ${multiple ? 'up to ' : ''}${deliveryTag}`),
    // Nothing is given back by basic.nack: from 4.3 on the broker does not count that, and a poisonous message would
    // come for ever.
    basicNack: () => void frames.push('nack'),
    basicReject: ({ deliveryTag, requeue }: { deliveryTag: number; requeue: boolean }) =>
      void frames.push(requeue ? `back ${deliveryTag}` : `dropped ${deliveryTag}`),
  };
  const acks = new Acknowledger(channel as never);
  for (let tag = 1; tag <= 9; tag += 1) acks.begin(tag);
  return { acks, frames, channel };
}

const aTurn = (): Promise<void> => new Promise(setImmediate);

describe('acknowledgements', () => {
  it('of one turn share a frame, whatever order the work ended in', async () => {
    const { acks, frames } = harness();
    for (const tag of [3, 1, 2, 4]) acks.acknowledge(tag);
    expect(frames).toEqual([]);
    await aTurn();
    expect(frames).toEqual(['ack up to 4']);
  });

  it('beyond one that is under way go one by one, and never that one', async () => {
    const { acks, frames } = harness();
    for (const tag of [1, 2, 4, 6]) acks.acknowledge(tag);
    await aTurn();
    expect(frames).toEqual(['ack up to 2', 'ack 4', 'ack 6']);
    acks.acknowledge(3);
    await aTurn();
    // 4 was acknowledged before: what goes up to 3 is 3 alone.
    expect(frames.slice(3)).toEqual(['ack up to 3']);
    for (const tag of [5, 7]) acks.acknowledge(tag);
    await aTurn();
    expect(frames.slice(4)).toEqual(['ack up to 7']);
  });

  it('do not cover what was given back', async () => {
    const { acks, frames } = harness();
    acks.acknowledge(1);
    acks.giveBack(2);
    acks.acknowledge(3);
    await aTurn();
    // The frame that gives 2 back is written first, so that the other no longer reaches it.
    expect(frames).toEqual(['back 2', 'ack up to 3']);
  });

  it('are withheld until they are released, and so is what goes back', async () => {
    const { acks, frames } = harness();
    acks.withhold();
    acks.acknowledge(1);
    acks.giveBack(2);
    await aTurn();
    acks.acknowledge(3);
    expect(frames).toEqual([]);
    acks.release();
    expect(frames).toEqual(['back 2', 'ack up to 3']);
  });

  it('tell each message once, as its frame is written', async () => {
    const { acks } = harness();
    const settled: number[] = [];
    for (const tag of [10, 11, 12]) acks.begin(tag, () => settled.push(tag));
    acks.giveBack(12);
    acks.acknowledge(10);
    acks.acknowledge(11);
    expect(settled).toEqual([12]);
    await aTurn();
    expect(settled).toEqual([12, 10, 11]);
  });

  it('end with the channel', async () => {
    const { acks, frames, channel } = harness();
    acks.acknowledge(1);
    channel.active = false;
    acks.giveBack(2);
    await aTurn();
    expect(frames).toEqual([]);
  });
});
