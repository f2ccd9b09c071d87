import { describe, expect, it } from '@jest/globals';
import { contentIn } from './content-in.js';

const SSCC = '046000000000000011';
const expiryTold = (expiresOn: string) => {
  const packs = [{ sgtin: '04600000000015READM00000001', series: 'S-7', expiresOn, fields: {} }];
  const node = { sscc: SSCC, packs, containers: [], fields: {} };
  return contentIn(SSCC, { up: [], down: [node] } as never)?.items[0];
};

describe('the expiry of a pack in an answer about a container', () => {
  it.each(['2028-12-31', '2028-12-31T00:00:00Z', '31.12.2028', '31.12.2028 00:00:00'])('is read from %s', (text) => {
    expect(expiryTold(text)).toMatchObject({ expiresOn: '2028-12-31' });
  });

  it.each(['', '2028-12', '2028', '2028-02-30', '30.02.2028', '12/31/2028'])('is not read from %j', (text) => {
    expect(expiryTold(text)).not.toHaveProperty('expiresOn');
  });
});
