import { describe, expect, it } from '@jest/globals';
import { fateOf } from './series-file.js';

const HERE = '00000000000001';
const fate = (status: string): string =>
  fateOf({ status, place: HERE, isNew: false, isRefused: false }, new Set([HERE]));

describe('what became of a pack at a place of ours', () => {
  it.each([
    'in_partial_sale',
    'in_partial_discount_prescription_sale',
    'in_partial_dispensing_by_document',
    'in_partial_medical_use',
    'in_partial_ooc',
  ])('is that it is there while a part of it is left: %s', (status) => {
    expect(fate(status)).toBe('on_hand');
  });

  it.each([
    ['in_sale', 'sold'],
    ['in_discount_prescription_sale', 'dispensed'],
    ['dispensing_by_document', 'dispensed'],
    ['in_medical_use', 'dispensed'],
    ['out_of_circulation', 'written_off'],
  ])('follows from what takes the whole, or its last part: %s', (status, expected) => {
    expect(fate(status)).toBe(expected);
  });
});
