import { describe, expect, it } from '@jest/globals';
import { DIGEST, LogOfTest, pack } from '../../test/fixture.js';
import { foldTiming, TIMING_EVENTS } from './fold.js';
import type { DocumentTimingRow } from './row.js';

const OF = { docType: 415, items: [pack(1)] };

/** What the fold makes of a document of ours, of the events that it asks for. */
function folded(log: LogOfTest): DocumentTimingRow | undefined {
  const wanted = log.events.filter(({ type }) => (TIMING_EVENTS as readonly string[]).includes(type));
  return wanted.reduce<DocumentTimingRow | undefined>(foldTiming, undefined);
}

describe('the moments of a document', () => {
  it('keep the first one at which the registry took it', () => {
    const log = new LogOfTest();
    const requestId = log.send(OF);
    const first = folded(log)?.sentAt;
    log.add(requestId, {
      type: 'DocumentSent',
      data: { attempt: 2, documentId: 'again', answerSha256: DIGEST, foundByLookUp: true },
    });
    expect(first).toBeInstanceOf(Date);
    expect(folded(log)?.sentAt).toEqual(first);
  });

  it('take a revision, and change by no event twice', () => {
    const log = new LogOfTest();
    const requestId = log.send(OF);
    log.conclude(requestId, { ...OF, outcome: 'failed' });
    log.conclude(requestId, OF, 'failed');
    const row = folded(log) as DocumentTimingRow;
    expect(row).toMatchObject({ outcome: 'accepted', acceptedAt: expect.any(Date), operationAt: expect.any(Date) });
    for (const event of log.events) expect(foldTiming(row, event)).toBe(row);
  });

  it('are not made up for a document that was never begun', () => {
    const log = new LogOfTest();
    log.conclude('r', OF);
    expect(() => folded(log)).toThrow('DocumentConcluded at position 3 of document-r has no document before it');
  });
});
