import { describe, expect, it } from '@jest/globals';
import { evidenceIn } from './evidence-names.js';

const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string];

describe('the evidence that an event names', () => {
  it('has every piece of a body that is kept in pieces', () => {
    expect(evidenceIn(JSON.stringify({ bodySha256: A, furtherSha256: [B, C], reason: 'x' }))).toEqual([A, B, C]);
    expect(evidenceIn(JSON.stringify({ bodySha256: A, furtherSha256: [] }))).toEqual([A]);
  });

  it('is no digest of another thing', () => {
    expect(evidenceIn(JSON.stringify({ settingsSha256: A, documentSha256: B }))).toEqual([B]);
  });
});
