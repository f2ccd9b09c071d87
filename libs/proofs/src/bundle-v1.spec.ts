import { describe, expect, it } from '@jest/globals';
import { parseBundleV1 } from './bundle-v1.js';

const BUNDLE = {
  format: 'pedigree-proof/1',
  checkpoint: 'a log\n',
  events: [{ leaf: 0, event: '{"n":"<é\u2028>"}', path: ['0'.repeat(64)] }],
  notYetSealed: 0,
};
const WRITTEN = JSON.stringify(BUNDLE, null, 2);

describe('a proof of the first version', () => {
  it.each([
    ['as it was printed', `${WRITTEN}\n`],
    ['with lines that end as others end them', `${WRITTEN}\n`.replaceAll('\n', '\r\n')],
    ['as a page saves it', WRITTEN.replaceAll('<', '\\u003c')],
    ['without blanks', JSON.stringify(BUNDLE)],
  ])('is read %s', (_, text) => {
    expect(parseBundleV1(text)).toEqual(BUNDLE);
  });

  it.each([
    ['an event', '"event": ', '"event": "another",\n      "event": '],
    ['what is not signed yet', '"notYetSealed": 0', '"notYetSealed": 9,\n  "notYetSealed": 0'],
  ])('is refused with %s twice, of which others may read the first', (_, from, to) => {
    const text = WRITTEN.replace(from, to);
    expect(JSON.parse(text)).toEqual(BUNDLE);
    expect(() => parseBundleV1(text)).toThrow('a name twice');
  });
});
