import { describe, expect, it } from '@jest/globals';
import { closeAll } from './closing.js';

describe('what a program has opened', () => {
  it('is closed, the last first, whatever becomes of the others, and once', async () => {
    const closed: string[] = [];
    const part = (name: string, error?: string) => () => {
      closed.push(name);
      return error === undefined ? Promise.resolve() : Promise.reject(new Error(error));
    };
    const throwing = () => {
      throw new Error('at once');
    };
    const closing = [part('pool'), throwing, part('log', 'the server is away'), part('registry')];
    expect((await closeAll(closing)).map(({ message }) => message)).toEqual(['the server is away', 'at once']);
    expect(closed).toEqual(['registry', 'log', 'pool']);
    expect(await closeAll(closing)).toEqual([]);
    expect(closed).toHaveLength(3);
  });
});
