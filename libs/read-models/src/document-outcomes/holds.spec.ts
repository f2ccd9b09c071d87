import { describe, expect, it } from '@jest/globals';
import { holdsOf } from './holds.js';
import type { DocumentOutcomeRow } from './row.js';

const AT = new Date('2026-11-01T10:00:00Z');
const FIRST = { commandId: 'c-1', requestId: 'r-1' };
const SECOND = { commandId: 'c-2', requestId: 'r-2' };
const GROUP = 'a7e2a1c2-6f1e-4f39-8f0c-0d8b7a1c2e3f';

const row = (some: Partial<DocumentOutcomeRow>): DocumentOutcomeRow =>
  ({ phase: 'ready', attempts: 0, groupId: null, waitingFor: [], heldFor: [], registeredAt: AT, ...some }) as never;
const since = AT.toISOString();

describe('what keeps a document from being sent', () => {
  it('is nothing when it is ready, nor when it has been sent', () => {
    expect(holdsOf(row({}))).toEqual([]);
    expect(holdsOf(row({ phase: 'sent', groupId: GROUP, attempts: 1 }))).toEqual([]);
    expect(holdsOf(row({ phase: 'concluded', groupId: GROUP }))).toEqual([]);
  });

  it('are those that it comes after, and each that ended badly by itself', () => {
    const heldFor = [{ ...SECOND, outcome: 'failed' as const, since: '2026-11-01T11:00:00.000Z' }];
    expect(holdsOf(row({ phase: 'held', waitingFor: [FIRST], heldFor }))).toEqual([
      { kind: 'after', since, for: [FIRST], waivableBy: 'nobody' },
      {
        kind: 'after',
        since: '2026-11-01T11:00:00.000Z',
        for: [{ ...SECOND, outcome: 'failed' }],
        waivableBy: 'operator',
      },
    ]);
  });

  it('is the turn of a member of a group, until its first attempt', () => {
    expect(holdsOf(row({ groupId: GROUP }))).toEqual([{ kind: 'group', since, for: GROUP, waivableBy: 'nobody' }]);
    expect(holdsOf(row({ groupId: GROUP, attempts: 1 }))).toEqual([]);
  });
});
