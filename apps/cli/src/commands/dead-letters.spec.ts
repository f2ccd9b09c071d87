import { describe, expect, it, jest } from '@jest/globals';
import { printedInEachTest } from '../../test/printed.js';
import type { GatewayClient } from '../gateway-client.js';
import { listDeadLetters } from './dead-letters.js';

const printed = printedInEachTest();
const letter = (n: number) => ({
  id: `l-${n}`,
  body_bytes: 1,
  code: 'invalid_json',
  reason: 'x',
  dead_at: '',
  deliveries: 1,
});

/** The list where so many letters wait, and what is said beside it. */
async function listed(count: number, json: boolean): Promise<{ status: number; asked: number; remarks: string }> {
  const remarks = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const raw = jest.fn((path: string) => {
    const limit = Number(/limit=(\d+)/.exec(path)?.[1]);
    return Promise.resolve({ items: Array.from({ length: Math.min(count, limit) }, (_, n) => letter(n)) });
  });
  const status = await listDeadLetters({ raw } as unknown as GatewayClient, { json });
  return { status, asked: raw.mock.calls.length, remarks: remarks.mock.calls.join('') };
}

describe('the list of dead letters', () => {
  it.each([false, true])(
    'says when it does not show all (as JSON: %s), and looks into the queue once',
    async (json) => {
      expect(await listed(1, json)).toEqual({ status: 2, asked: 1, remarks: '' });
      expect(printed.join('')).toContain('l-0');
      expect(await listed(0, json)).toEqual({ status: 0, asked: 1, remarks: '' });
      expect(await listed(1_001, json)).toEqual({
        status: 2,
        asked: 1,
        remarks: expect.stringContaining('the first 1000 are shown, and there may be more behind them'),
      });
    },
  );
});
