import { describe, expect, it } from '@jest/globals';
import { sha256Hex } from '#kernel';
import { momentOfUpload, uploadedName } from './uploaded-name.js';

const sha256 = sha256Hex('a stock');
const MOMENT = '2026-11-22T20:00:00.007Z';

describe('the name of an uploaded stock file', () => {
  it('tells the moment that its sender said, and none that he did not say', () => {
    for (const name of ['stock.csv', 'Склад 1.2.xlsx']) {
      const uploaded = uploadedName({ name, sha256, moment: MOMENT });
      expect(momentOfUpload(uploaded, sha256)).toBe(MOMENT);
      expect(uploaded.endsWith(name.slice(name.lastIndexOf('.')))).toBe(true);
      expect(momentOfUpload(uploadedName({ name, sha256, moment: null }), sha256)).toBeUndefined();
    }
    expect(uploadedName({ name: 'stock.csv', sha256, moment: MOMENT })).toBe(
      `stock-20261122T200000007Z-${sha256.slice(0, 16)}.csv`,
    );
  });

  it('tells nothing of other bytes, nor what is not a moment', () => {
    const uploaded = uploadedName({ name: 'stock.csv', sha256, moment: MOMENT });
    expect(momentOfUpload(uploaded, sha256Hex('another'))).toBeUndefined();
    expect(momentOfUpload(uploaded.replace('20261122', '20261322'), sha256)).toBeUndefined();
    expect(momentOfUpload('stock.csv', sha256)).toBeUndefined();
  });
});
