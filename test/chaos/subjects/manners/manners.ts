import type { Ended, Subject } from '../subject.js';

interface Violations {
  count: number;
  byRule: Record<string, number>;
  violations: { rule: string; note?: string }[];
}

const MOST_SHOWN = 5;

/** No rule of the interface was broken, by all processes together, whatever befell them. */
export const manners: Subject = {
  name: 'manners',
  async check({ truth }: Ended): Promise<string[]> {
    const { count, byRule, violations } = await truth<Violations>('/violations');
    if (count === 0) return [];
    return [
      `${count} violations: ${JSON.stringify(byRule)}`,
      ...violations.slice(0, MOST_SHOWN).map((one) => JSON.stringify(one)),
    ];
  },
};
