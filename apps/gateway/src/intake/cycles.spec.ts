import { describe, expect, it } from '@jest/globals';
import { cyclesIn } from './cycles.js';

const command = (commandId: string, ...after: string[]) => ({ commandId, after });
const known = (...commands: ReturnType<typeof command>[]) => new Map(commands.map((one) => [one.commandId, one.after]));

describe('commands that would wait for themselves', () => {
  it.each([
    ['one after a known one that waits for it', [command('B', 'A')], known(command('A', 'B')), [['B', 'A', 'B']]],
    [
      'over others',
      [command('D', 'C')],
      known(command('A', 'D'), command('B', 'A'), command('C', 'X', 'B')),
      [['D', 'C', 'B', 'A', 'D']],
    ],
    ['the second of two in one batch', [command('A', 'B'), command('B', 'A')], known(), [undefined, ['B', 'A', 'B']]],
    [
      'not what depends on a refused one',
      [command('A', 'B'), command('B', 'A'), command('C', 'B')],
      known(),
      [undefined, ['B', 'A', 'B'], undefined],
    ],
    [
      'not a chain, nor two ways to one',
      [command('D', 'B', 'C')],
      known(command('B', 'A'), command('C', 'A'), command('A')),
      [undefined],
    ],
    ['not a known one again', [command('A', 'B')], known(command('A', 'B'), command('B')), [undefined]],
    ['not a cycle of others', [command('C', 'A')], known(command('A', 'B'), command('B', 'A')), [undefined]],
  ])('%s', (_, batch, stored, cycles) => expect(cyclesIn(batch, stored)).toEqual(cycles));

  it('finds a cycle of any length', () => {
    const chain = Array.from({ length: 5_000 }, (_, n) => command(`c${n}`, `c${n + 1}`));
    expect(cyclesIn([command('c5000', 'c0')], known(...chain))[0]).toHaveLength(5_002);
    expect(cyclesIn([command('x', 'c0')], known(...chain))).toEqual([undefined]);
  });
});
