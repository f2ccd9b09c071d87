import { describe, expect, it } from '@jest/globals';
import { Semaphore } from './semaphore.js';

/** Actions that end when they are told to; `begun` holds their names in the order in which they began. */
function stage(semaphore: Semaphore) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const enter = (name: string, urgent = false): Promise<string> =>
    semaphore.take(() => {
      begun.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    }, urgent);
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { begun, enter, end };
}

describe('Semaphore', () => {
  it('lets so many run at once, the others in order, the urgent first', async () => {
    const { begun, enter, end } = stage(new Semaphore(2, 'actions'));
    const all = [enter('a'), enter('b'), enter('c'), enter('d'), enter('sign-in', true)];
    await new Promise(setImmediate);
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'sign-in']);
    await end('sign-in');
    await end('a');
    expect(begun).toEqual(['a', 'b', 'sign-in', 'c', 'd']);
    await end('c');
    await end('d');
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd', 'sign-in']);
    const alone = enter('e');
    await new Promise(setImmediate);
    await end('e');
    expect(await alone).toBe('e');
  });

  it('gives the place on when an action fails', async () => {
    const semaphore = new Semaphore(1, 'actions');
    const failing = [
      semaphore.take(() => Promise.reject(new Error('one'))),
      semaphore.take(() => Promise.reject(new Error('two'))),
    ];
    expect(await Promise.allSettled(failing)).toMatchObject([
      { reason: { message: 'one' } },
      { reason: { message: 'two' } },
    ]);
    expect(await semaphore.take(() => Promise.resolve('three'))).toBe('three');
  });

  it('does not let a thousand and one wait', async () => {
    const { enter, end } = stage(new Semaphore(1, 'actions'));
    void enter('running');
    const waiting = Array.from({ length: 1_000 }, (_, i) => enter(`w${i}`));
    await expect(enter('one too many')).rejects.toThrow('1000 actions are waiting');
    await end('running');
    for (let i = 0; i < 1_000; i += 1) await end(`w${i}`);
    expect(await Promise.all(waiting)).toHaveLength(1_000);
  });
});
