import { describe, expect, it } from '@jest/globals';
import { decisionsInOrder, holdingDecisions, type CirculationDecision } from './decisions.js';

const NOW = new Date('2026-03-10T00:00:00Z');
const day = (n: number): string => `2026-03-${String(n).padStart(2, '0')}T00:00:00.000Z`;
const told = (
  decisionId: string,
  says: CirculationDecision['says'],
  more: Partial<CirculationDecision> = {},
): CirculationDecision => ({ decisionId, says, gtin: '04600000000015', series: 'A1', ...more });
const holding = (...decisions: CirculationDecision[]): string[] => {
  const found = holdingDecisions(decisions, NOW).map((one) => one.decisionId);
  expect(holdingDecisions([...decisions].reverse(), NOW).map((one) => one.decisionId)).toEqual(found);
  return found;
};

describe('the decisions that hold a series', () => {
  const first = told('s1', 'suspend', { haltedAt: day(2) });
  const end = told('e1', 'end', { haltedAt: day(4) });

  it('are ended by a later one, and by none of before, in whatever order they are told', () => {
    expect(holding(first, end)).toEqual([]);
    expect(holding(told('s2', 'suspend', { haltedAt: day(5) }), end, first)).toEqual(['s2']);
    expect(holding(told('s2', 'suspend', { haltedAt: day(3) }), first)).toEqual(['s2']);
  });

  it('stay where the moments do not tell which came last', () => {
    const same = { haltedAt: day(2) };
    expect(holding(first, told('e1', 'end', same))).toEqual(['s1']);
    expect(holding(first, told('e1', 'end'))).toEqual(['s1']);
    expect(holding(told('s1', 'suspend'), end)).toEqual(['s1']);
    const [early, late] = [day(2), day(3)];
    const [entered, ended] = [told('s1', 'suspend', { ...same, enteredAt: early }), told('e1', 'end', same)];
    expect(holding(entered, { ...ended, enteredAt: late })).toEqual([]);
    expect(holding({ ...entered, enteredAt: late }, { ...ended, enteredAt: early })).toEqual(['s1']);
  });

  it('are ended under their own id without any moment', () => {
    expect(holding(told('s1', 'suspend'), told('s1', 'end'))).toEqual([]);
  });

  it('stay until an end that is announced counts, and count themselves at once', () => {
    expect(holding(first, told('e1', 'end', { haltedAt: day(20) }))).toEqual(['s1']);
    expect(holding(told('s1', 'suspend', { haltedAt: day(20) }), end)).toEqual(['s1']);
  });

  it('stay where a decision of before was only to count later: it is not about them', () => {
    const announced = told('e1', 'end', { decidedAt: day(3), haltedAt: day(8) });
    expect(holding(told('s1', 'suspend', { decidedAt: day(1), haltedAt: day(1) }), announced)).toEqual([]);
    expect(holding(told('s2', 'suspend', { decidedAt: day(5), haltedAt: day(5) }), announced)).toEqual(['s2']);
    // One that counts from a day of before it was decided.
    expect(holding(told('s2', 'suspend', { decidedAt: day(9), haltedAt: day(2) }), announced)).toEqual(['s2']);
    expect(holding(told('e1', 'suspend', { decidedAt: day(9), haltedAt: day(2) }), announced)).toEqual([]);
  });

  it('are of one series, letter by letter, and of none where the registry names none', () => {
    expect(holding(first, { ...end, series: '\u04101' })).toEqual(['s1']);
    expect(holding(first, { ...end, gtin: '04600000000022' })).toEqual(['s1']);
    expect(holding({ ...first, series: '' }, { ...first, gtin: '' }, told('u', 'unknown'))).toEqual([]);
  });

  it('stay where one is told twice, before and behind its end, whichever of the two comes first', () => {
    const again = { ...first, haltedAt: day(5) };
    expect(holding(first, end, again)).toEqual(['s1']);
    expect(decisionsInOrder([again, end, first])).toEqual(decisionsInOrder([first, end, again, first]));
    expect(decisionsInOrder([again, end, first])).toHaveLength(3);
  });

  it('are in one order', () => {
    expect(decisionsInOrder([first, end])).toEqual(decisionsInOrder([end, first, end]));
  });
});
