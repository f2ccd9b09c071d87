import { describe, expect, it } from '@jest/globals';
import type { CirculationDecision } from '#domain';
import { changeByDecisions } from './take-decisions.js';

const AT = new Date('2026-03-10T00:00:00Z');
const told = (decisionId: string, says: CirculationDecision['says'], day: string): CirculationDecision => ({
  ...{ decisionId, says, gtin: '04600000000015', series: 'S' },
  ...{ decidedAt: `${day}T00:00:00.000Z`, haltedAt: `${day}T00:00:00.000Z` },
});
const OTHER = { ...told('x', 'suspend', '2026-01-01'), series: 'X' };
const [D0, E0] = [told('d0', 'suspend', '2024-01-01'), told('e0', 'end', '2024-06-01')];
const D1 = told('d1', 'suspend', '2026-02-01');
const E1 = told('e1', 'end', '2026-03-01');
const BEFORE = { inForce: [D1, OTHER], believed: [D0, E0, D1, OTHER], newest: [] as CirculationDecision[], at: AT };
const change = (decisions: CirculationDecision[], before: Partial<typeof BEFORE> = {}) => {
  const { released, inForce } = changeByDecisions(decisions, { ...BEFORE, ...before });
  return {
    released: released.map(({ series, end }) => [series.decisionId, end?.decisionId]),
    inForce: inForce.map(({ decisionId }) => decisionId),
  };
};

describe('the release of a series that was suspended before, and ended then', () => {
  it('does not follow from that end where one reading passes over the newer decision', () => {
    expect(change([D0, E0, OTHER])).toEqual({ released: [], inForce: ['d1', 'x'] });
    expect(change([D0, E0, OTHER], { believed: [D0, E0, OTHER] })).toEqual({
      ...{ released: [['d1', undefined]], inForce: ['x'] },
    });
  });

  it('does not follow where only the newest, doubted decisions told it, and the next ones do not', () => {
    const believed = [D0, E0, OTHER];
    expect(change(believed, { believed, newest: [D1] })).toEqual({ released: [], inForce: ['d1', 'x'] });
    expect(change(believed, { believed, newest: [OTHER] }).released).toEqual([['d1', undefined]]);
  });

  it('does not follow from an end that is announced for later', () => {
    const announced = { ...E1, haltedAt: '2026-04-01T00:00:00.000Z' };
    expect(change([D0, E0, announced, OTHER])).toEqual({ released: [], inForce: ['d1', 'x'] });
  });

  it('is told by the last decision that ends it, by the days that are told of it now', () => {
    const later = told('e2', 'end', '2026-03-02');
    expect(change([later, D0, E0, E1, OTHER]).released).toEqual([['d1', 'e2']]);
    expect(change([D0, E0, D1, E1, OTHER]).released).toEqual([['d1', 'e1']]);
    const corrected = { ...D1, decidedAt: E0.decidedAt ?? '', haltedAt: '2024-05-01T00:00:00.000Z' };
    expect(change([D0, E0, corrected, OTHER]).released).toEqual([['d1', 'e0']]);
  });

  it('does not follow while the decision is told, and nobody understands what it says of the series now', () => {
    const unclear = told('d1', 'unknown', '2026-02-01');
    const believed = [D0, E0, unclear, OTHER];
    expect(change(believed, { believed, newest: believed })).toEqual({ released: [], inForce: ['d1', 'x'] });
    // An end is understood, and another decision, or one about another series, says nothing of this one.
    expect(change([...believed, E1], { believed, newest: believed }).released).toEqual([['d1', 'e1']]);
    const others = [D0, E0, told('d2', 'unknown', '2026-02-01'), { ...unclear, series: 'Y' }, OTHER];
    expect(change(others, { believed: others, newest: others }).released).toEqual([['d1', undefined]]);
  });
});
