import { expect, it } from '@jest/globals';
import { USUAL_LIMITS } from './incremental-limits.js';
import { withoutEffect } from './without-effect.js';

const NOTHING = { account: null, way: 'auto', registry: null, freshHours: null, incremental: null } as const;
const MAIN = { ...NOTHING, account: 'main' };

it.each([
  ['incremental', { ...NOTHING, incremental: USUAL_LIMITS }, /^no account is named/],
  ['incremental', { ...MAIN, incremental: USUAL_LIMITS, registry: '/r' }, /^a registry snapshot is named/],
  ['freshHours', { ...NOTHING, freshHours: 0 }, /^no account is named/],
  ['freshHours', { ...MAIN, way: 'filter' as const, freshHours: 4 }, /^the way is filter, and only auto/],
  ['unconfirmed', { ...MAIN, unconfirmed: true }, /^no registry snapshot/],
])('%s has no effect in %j', (part, asked, why) =>
  expect(withoutEffect(asked)).toEqual({ part, why: expect.stringMatching(why) }),
);

it.each([
  [NOTHING],
  [{ ...MAIN, incremental: USUAL_LIMITS, freshHours: 4 }],
  [{ ...MAIN, registry: '/r', unconfirmed: true }],
  [{ ...NOTHING, registry: '/r', unconfirmed: true }],
])('all of %j has', (asked) => expect(withoutEffect(asked)).toBeUndefined());
