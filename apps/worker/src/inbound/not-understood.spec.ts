import { describe, expect, it } from '@jest/globals';
import { notUnderstoodAfter, type KeptNotUnderstood } from './not-understood.js';

const hour = (n: number): Date => new Date(Date.UTC(2026, 2, 2, n));
const farthest = hour(0);
const WORDS = '1 entries are not understood';
const kept = (n: number, isReadAgain = false): KeptNotUnderstood => ({ from: hour(n), words: WORDS, isReadAgain });

describe('an entry of a list that is not understood', () => {
  it.each([
    ['is kept from where its reading began', undefined, { since: hour(5), words: WORDS }, kept(5)],
    ['stays where a reading begins later', kept(5), { since: hour(6) }, kept(5)],
    ['is gone where a reading from there is whole', kept(5), { since: hour(5) }, undefined],
    ['is not gone before that is whole', kept(5), { since: hour(4), isWhole: false }, kept(5, true)],
    ['is gone at the end of such readings', kept(5, true), { since: hour(7) }, undefined],
    ['is kept from its new place where it is shown again', kept(5, true), { since: hour(7), words: WORDS }, kept(7)],
    ['is kept from the older place where a newer one comes', kept(5), { since: hour(7), words: WORDS }, kept(5)],
    ['is gone where nothing older is read again', kept(-3), { since: hour(0) }, undefined],
    ['is not there where none was shown', undefined, { since: hour(5) }, undefined],
  ])('%s', (_, before, reading, after) => {
    expect(notUnderstoodAfter(before, { farthest, isWhole: true, ...reading })).toEqual(after);
  });
});
