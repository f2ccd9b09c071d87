import { describe, expect, it } from '@jest/globals';
import { CATALOGUE } from '#documents';
import { gatePolicyOf, readGatePolicies } from './gate-policies.js';

const policies = (text: string) => (docType: number) => gatePolicyOf(docType, readGatePolicies(text));

describe('what is done at the sequence gate', () => {
  it('is to refuse shipments, to warn of every other type with a rule, and nothing without one', () => {
    const of = policies('');
    const types = CATALOGUE.map(({ docType }) => docType);
    expect(types.filter((one) => of(one) === 'refuse')).toEqual([415, 417, 441, 461, 472]);
    expect([511, 521, 531, 552].map(of)).toEqual(['warn', 'warn', 'warn', 'warn']);
    expect([701, 250, 601, 99_999].map(of)).toEqual(['off', 'off', 'off', 'off']);
  });

  it('is what the installation says, by type before all', () => {
    const of = policies(' 415=warn, all=off ,511=refuse,');
    expect([415, 417, 511, 521, 701].map(of)).toEqual(['warn', 'off', 'refuse', 'off', 'off']);
  });

  it.each([
    ['415', '"415" is not TYPE=refuse|warn|off'],
    ['415=hold', '"415=hold" is not TYPE=refuse|warn|off'],
    ['shipments=warn', '"shipments=warn" is not'],
    ['701=refuse', 'no rule says what state the packs of a document of type 701 must have'],
    ['415=warn,415=off', '415 is named twice'],
  ])('is asked for in a form that is checked: %s', (text, message) => {
    expect(() => readGatePolicies(text)).toThrow(message);
  });
});
