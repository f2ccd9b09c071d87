import { describe, expect, it } from '@jest/globals';
import { canonicalJson, sha256Hex } from '#kernel';
import { OVERRIDES, RULES } from './rules.js';
import { COMPARISON, inputsDigest, RULES_DIGEST, type RunRecord } from './run-record.js';
import { comparisonSettings } from './settings.js';
import { STANDINGS } from './statuses.js';

const side = (name: string) => ({ folder: `/${name}`, digest: sha256Hex(name), rows: 1, files: [`/${name}/0`] });
const RUN: Omit<RunRecord, 'inputs'> = {
  ...{ format: 1, moment: '2026-11-23T05:00:00.000Z', settings: comparisonSettings({}), rules: RULES_DIGEST },
  ...{ legs: { stock: side('stock'), registry: side('registry') }, places: ['P1'] },
  ...{ wrongCheckDigits: false, containers: false, unseen: [] },
};

describe('the digest of the inputs of a run', () => {
  it('is as it always was where no row of the stock was refused', () => {
    const digests = { stock: sha256Hex('stock'), record: null, registry: sha256Hex('registry') };
    const { moment, settings, places, rules } = RUN;
    const legs = { ...digests, disposals: null, documents: null };
    expect(inputsDigest(RUN)).toBe(sha256Hex(canonicalJson({ moment, settings, legs, places, rules })));
  });

  it('is over the items of the rows that were refused', () => {
    const refusing = (items: string) =>
      inputsDigest({ ...RUN, legs: { ...RUN.legs, stock: { ...side('stock'), refused: sha256Hex(items) } } });
    expect(new Set([inputsDigest(RUN), refusing('one'), refusing('other')]).size).toBe(3);
  });
});

describe('the digest of the rules', () => {
  it('is another with another number of the comparison', () => {
    const rules = { rules: [RULES, OVERRIDES], standings: [...STANDINGS] };
    const [of, ofNext] = [COMPARISON, COMPARISON + 1].map((comparison) =>
      sha256Hex(canonicalJson({ ...rules, comparison })),
    );
    expect([RULES_DIGEST === of, RULES_DIGEST === ofNext]).toEqual([true, false]);
  });
});
