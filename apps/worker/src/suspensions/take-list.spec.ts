import { expect, it } from '@jest/globals';
import { changeBy } from './take-list.js';

const list = (...names: string[]) => names.map((series) => ({ gtin: '04600000000015', series }));

it('what a doubted list added is released by no single reading that leaves it out', () => {
  const believed = list('A', 'B', 'C', 'D', 'E', 'F');
  const shrunken = list('A', 'N');
  const doubted = changeBy(shrunken, { inForce: believed, believed, newest: believed });
  expect(doubted).toMatchObject({ doubt: 'shrunken', appeared: list('N'), released: [] });
  const once = changeBy(believed, { inForce: doubted.inForce, believed, newest: shrunken });
  expect(once).toMatchObject({ released: [], inForce: [...believed, ...list('N')] });
  const twice = changeBy(believed, { inForce: once.inForce, believed, newest: believed });
  expect(twice).toMatchObject({ released: list('N'), inForce: believed });
});
