import { describe, expect, it } from '@jest/globals';
import { PedigreeError, type Clock } from '#kernel';
import { whileLogIsAway } from './while-away.js';

const clock = { wait: async () => undefined } as unknown as Clock;

/** Work that fails with these errors, one after the other, and then succeeds. */
const failingWith =
  (...errors: Error[]) =>
  async (): Promise<string> => {
    const error = errors.shift();
    if (error !== undefined) throw error;
    return 'done';
  };

describe('work at the start of a program', () => {
  it('is repeated while the log is away, and while the database has no connection to give', async () => {
    const work = failingWith(
      new PedigreeError('unavailable', 'the log is away'),
      new Error('timeout exceeded when trying to connect'),
    );
    await expect(whileLogIsAway(clock, work)).resolves.toBe('done');
  });

  it('fails at once for any other reason, and after twenty tries', async () => {
    await expect(whileLogIsAway(clock, failingWith(new Error('syntax error')))).rejects.toThrow('syntax error');
    const always = Array.from({ length: 20 }, (_, n) => new PedigreeError('unavailable', `away ${n + 1}`));
    await expect(whileLogIsAway(clock, failingWith(...always))).rejects.toThrow('away 20');
  });
});
