import { expect, it } from '@jest/globals';
import { suspensionsOf, type StoppedSeries } from './stop-events.js';

it('a suspension that is in force for several series is named once', () => {
  const of = (series: string, ...suspensions: string[]): StoppedSeries => ({
    ...{ gtin: '04600000000015', series, suspensions, packs: [], packCount: 0 },
  });
  expect(suspensionsOf({ series: [of('A', 's1', 's2'), of('B', 's1'), of('C')] })).toEqual(['s1', 's2']);
});
