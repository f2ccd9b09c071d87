import { describe, expect, it } from '@jest/globals';
import { Gate } from './gate.js';

const LONG_MS = 60_000;
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the gate', () => {
  it('lets in what fits together, in order, and what is too large alone', async () => {
    const gate = new Gate({ mostMessages: 4, mostBytes: 10 });
    const order: string[] = [];
    const enter = (name: string, bytes: number): void => void gate.enter(bytes, LONG_MS).then(() => order.push(name));
    enter('a', 6);
    enter('b', 5);
    enter('c', 1);
    enter('huge', 50);
    await tick();
    // c would fit, and waits behind b all the same: else b might wait for ever.
    expect(order).toEqual(['a']);
    gate.leave(6);
    await tick();
    expect(order).toEqual(['a', 'b', 'c']);
    gate.leave(5);
    await tick();
    expect(order).toHaveLength(3);
    gate.leave(1);
    await tick();
    expect(order.at(-1)).toBe('huge');
    gate.leave(50);
  });

  it('gives up on what waits too long, and lets in those behind it', async () => {
    const gate = new Gate({ mostMessages: 4, mostBytes: 10 });
    expect(await gate.enter(6, LONG_MS)).toBe(true);
    const late = gate.enter(9, 1);
    const behind = gate.enter(2, LONG_MS);
    expect([await late, await behind]).toEqual([false, true]);
    gate.leave(6);
    gate.leave(2);
  });

  it('lets in no more messages than it may, however small', async () => {
    const gate = new Gate({ mostMessages: 2, mostBytes: 10 });
    const entered: number[] = [];
    for (const n of [1, 2, 3]) void gate.enter(1, LONG_MS).then(() => entered.push(n));
    await tick();
    expect(entered).toEqual([1, 2]);
    gate.leave(1);
    await tick();
    expect(entered).toEqual([1, 2, 3]);
  });

  it('keeps everybody waiting while it is paused, and then lets them in in their order', async () => {
    const gate = new Gate({ mostMessages: 4, mostBytes: 10 });
    const entered: number[] = [];
    gate.pause();
    for (const n of [1, 2]) void gate.enter(1, LONG_MS).then(() => entered.push(n));
    const impatient = gate.enter(1, 1);
    expect([await impatient, entered]).toEqual([false, []]);
    gate.resume();
    await tick();
    expect(entered).toEqual([1, 2]);
  });

  it('refuses those that wait, and those that come, once it is shut', async () => {
    const gate = new Gate({ mostMessages: 1, mostBytes: 10 });
    expect(await gate.enter(1, LONG_MS)).toBe(true);
    const waiting = gate.enter(1, LONG_MS);
    gate.shut();
    expect([await waiting, await gate.enter(1, LONG_MS)]).toEqual([false, false]);
    gate.leave(1);
  });
});
