import { describe, expect, it } from '@jest/globals';
import { METADATA, newEvent } from './contract-events.js';
import { encodeAppend, procedureArguments } from './encode.js';
import { DEFAULT_LIMITS } from './limits.js';

const append = (stream: string, ...data: object[]) =>
  encodeAppend({ stream, expectedVersion: 'none', events: data.map((each) => newEvent(each)) }, DEFAULT_LIMITS);

describe('procedureArguments', () => {
  it('names each stream once and lays all bytes end to end', () => {
    const [streams, stream, expected, first, size, owner, ids, , , at, dataBytes, metadataBytes, payload] =
      procedureArguments([append('a', { n: 1 }, {}), append('b', { n: 2 }), append('a', { n: 3 })]);
    expect({ streams, stream, expected, first, size, owner }).toEqual({
      streams: ['a', 'b'],
      stream: [1, 2, 1],
      expected: [-1, -1, -1],
      first: [1, 3, 4],
      size: [2, 1, 1],
      owner: [1, 1, 2, 3],
    });
    expect(ids).toHaveLength(4);
    const cut = (n: number): string =>
      (payload as Buffer).subarray((at as number[])[n], (at as number[])[n]! + (dataBytes as number[])[n]!).toString();
    expect([0, 1, 2, 3].map(cut)).toEqual(['{"n":1}', '{}', '{"n":2}', '{"n":3}']);
    const end = (at as number[])[3]! + (dataBytes as number[])[3]! + (metadataBytes as number[])[3]!;
    expect((payload as Buffer).length).toBe(end);
  });

  it('says what is too large and where', () => {
    expect(() => append('a', {}, { text: 'x'.repeat(1024 * 1024) })).toThrow(
      'event /events/1/data of 1048587 bytes; at most 1048576 are stored',
    );
    const metadata = { ...METADATA, reason: 'x'.repeat(64 * 1024) };
    expect(() =>
      encodeAppend({ stream: 'a', expectedVersion: 'any', events: [{ ...newEvent(), metadata }] }, DEFAULT_LIMITS),
    ).toThrow('/events/0/metadata');
  });
});
