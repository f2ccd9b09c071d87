import { describe, expect, it } from '@jest/globals';
import { readForeignDocument } from './read-document.js';
import { MOST_NAMINGS, mustFitRecord } from './record-limits.js';

const PACK = '04601234567893PEDIGREE00001';
const OTHER = '04601234567893PEDIGREE00002';
const read = ({ type = 699, subject = '1', body = '' }: { type?: number; subject?: string; body?: string }) =>
  readForeignDocument(
    Buffer.from(
      `<documents version="1.38"><any action_id="${type}"><subject_id>${subject}</subject_id>${body}</any></documents>`,
    ),
  );
const named = (times: number): string =>
  `<list>${`<sgtin>${PACK}</sgtin>`.repeat(times)}<sgtin>${OTHER}</sgtin></list>`;

describe('what the record can hold', () => {
  it('is an item as often as its numbers go, and no oftener', () => {
    const most = read({ body: named(MOST_NAMINGS) });
    expect(mustFitRecord(most)).toBe(most);
    expect(() => mustFitRecord(read({ body: named(MOST_NAMINGS + 1) }))).toThrow(
      expect.objectContaining({
        code: 'too_many_items',
        message: `${PACK} is named more than 32768 times`,
        place: { element: 'any', item: PACK },
      }),
    );
  });

  it.each([
    ['the subject', { subject: 'x'.repeat(801) }],
    ['the counterparty', { body: `<counterparty_id>${'x'.repeat(801)}</counterparty_id>` }],
    [
      'the place of which all is moved',
      { type: 812, body: `<receiver_id>2</receiver_id><shipper_id>${'x'.repeat(801)}</shipper_id>` },
    ],
    ['a series', { body: `<details><series_number>${'x'.repeat(801)}</series_number></details>` }],
    ['the operation', { type: 250, body: `<operation_id>${'x'.repeat(801)}</operation_id>` }],
  ])('is %s of 800 characters, and no longer one', (what, given) => {
    expect(() => mustFitRecord(read(given))).toThrow(`${what} has more than 800 characters`);
    const shorter = JSON.parse(JSON.stringify(given).replace('x'.repeat(801), 'x'.repeat(800))) as typeof given;
    expect(() => mustFitRecord(read(shorter))).not.toThrow();
  });
});
