import { expect, it } from '@jest/globals';
import type { Queryable } from '#postgres';
import { answerSuspension } from './answer.js';

it('an answer claims no log position that came between what it reads', async () => {
  let position = 5n;
  // Whenever something was read, the read model goes on by one event.
  const query = async (asked: string | { text: string }): Promise<{ rows: object[] }> => {
    const isCheckpoint = (typeof asked === 'string' ? asked : asked.text).includes('FROM checkpoint');
    const rows = isCheckpoint ? [{ position }] : [];
    position += 1n;
    return Promise.resolve({ rows });
  };
  const evidence = { get: () => Promise.reject(new Error('no list is held')) };
  const store = { readStream: () => Promise.reject(new Error('no suspension is known')) };
  const sources = { pool: { query } as unknown as Queryable, evidence, store };
  const answer = await answerSuspension(sources, { gtin: '04600000000015', series: 'A1' }, new Date());
  expect(answer.knownAt).toBe('5');
});
