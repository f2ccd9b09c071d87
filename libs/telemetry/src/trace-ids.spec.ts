import { describe, expect, it } from '@jest/globals';
import { documentTrace, parseTraceparent, stepSpanId } from './trace-ids.js';

const REQUEST_ID = '3f2504e0-4f89-51d3-9a0c-0305e82c3301';

describe('the trace of a document', () => {
  it('has the digits of the request_id, so that a person finds it', () => {
    expect(documentTrace(REQUEST_ID).traceId).toBe('3f2504e04f8951d39a0c0305e82c3301');
    expect(documentTrace(REQUEST_ID).spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(documentTrace(REQUEST_ID.toUpperCase()).traceId).toBe(documentTrace(REQUEST_ID).traceId);
  });

  it('is a valid trace also where the id is no UUID, or all zeros, which a trace must not be', () => {
    for (const id of ['order-17', '00000000-0000-0000-0000-000000000000']) {
      expect(documentTrace(id).traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
      expect(documentTrace(id)).toEqual(documentTrace(id));
    }
  });

  it('tells steps and documents apart', () => {
    const ids = [
      stepSpanId(REQUEST_ID, 'send 1'),
      stepSpanId(REQUEST_ID, 'send 2'),
      stepSpanId('other', 'send 1'),
      documentTrace(REQUEST_ID).spanId,
    ];
    expect(new Set(ids).size).toBe(4);
  });
});

describe('the traceparent of a caller', () => {
  it('is read as the standard writes it', () => {
    expect(parseTraceparent('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')).toEqual({
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '00f067aa0ba902b7',
    });
  });

  it.each([
    undefined,
    '',
    'nonsense',
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
    'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  ])('is left alone where it does not hold: %s', (header) => expect(parseTraceparent(header)).toBeUndefined());
});
