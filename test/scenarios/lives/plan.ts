/**
 * Random lives of packs and containers, as plain data: what happens in each round, and to which items. A step names no
 * pack. It takes those that fit when it comes to it, so any part of a plan is a plan too, and a failure can be shrunk.
 */

const DEEDS = [
  // Ours.
  'pack',
  'append',
  'nest',
  'extract',
  'unpack',
  'ship',
  'take back',
  'accept',
  'refuse',
  'claim',
  'sell',
  'sell a part',
  'write off',
  'return',
  'release',
  'move',
  'move everything',
  'correct',
  'cancel',
  'accept the claim',
  'send back',
  // Of others, of the cabinet, and of the regulator.
  'they ship',
  'they recall',
  'they accept',
  'they refuse',
  'they return',
  'they send back',
  'they claim',
  'they confirm',
  'moved in the cabinet',
  'suspend',
  'lift',
] as const;
export type Deed = (typeof DEEDS)[number];

export interface Step {
  /** The first that something fits is done. */
  deeds: Deed[];
  /** Choose among what fits: numbers in [0, 1). */
  picks: number[];
  /** Takes items that may not fit: the registry refuses them. */
  isWild: boolean;
}

export interface Round {
  steps: Step[];
  /** What others do becomes known after what we do, whichever came first. */
  isLate: boolean;
}

export type Plan = Round[];

/** More often than others: what makes other things possible. */
const OFTEN: readonly Deed[] = ['pack', 'ship', 'accept', 'they ship', 'they accept', 'move', 'nest', 'extract'];
const DEEDS_A_STEP = 4;
const CHOICES: readonly Deed[] = [...DEEDS, ...OFTEN, ...OFTEN];

/**
 * Stories that chance tells too seldom, a step a round: a suspended pack goes back to and fro; a move is cancelled,
 * then a container is packed, put into another and opened; a container is packed and opened before others come by it;
 * all of a place is moved while goods are on their way there, and after some were sold there.
 */
const STORIES: readonly { picks: number[]; deeds: readonly Deed[] }[] = [
  { picks: [0, 0, 0.99, 0.72], deeds: ['suspend', 'send back', 'they accept', 'they send back', 'accept'] },
  { picks: [0.5, 0.5, 0.99, 0.72], deeds: ['move', 'cancel', 'pack', 'nest', 'unpack', 'unpack'] },
  { picks: [0.2, 0.2, 0.99, 0.72], deeds: ['pack', 'unpack'] },
  {
    picks: [0.4, 0.4, 0.4, 0.4],
    deeds: ['they ship', 'sell', 'move everything', 'accept', 'write off', 'move everything'],
  },
];

export function planOf(random: () => number, { rounds, steps }: { rounds: number; steps: number }): Plan {
  const step = (): Step => ({
    deeds: Array.from({ length: DEEDS_A_STEP }, () => CHOICES[Math.floor(random() * CHOICES.length)] as Deed),
    picks: Array.from({ length: 4 }, random),
    isWild: random() < 0.12,
  });
  return Array.from({ length: rounds }, (_, n) => {
    const told = STORIES.flatMap(({ picks, deeds }): Step[] =>
      deeds[n] === undefined ? [] : [{ picks, deeds: [deeds[n]], isWild: false }],
    );
    return {
      steps: [...told, ...Array.from({ length: steps - told.length }, step)],
      isLate: n % 4 === 2,
    };
  });
}

/** Leaves out rounds, then steps of a plan, while it still fails and tries are left. The last that failed is small. */
export async function shrink(
  plan: Plan,
  { fails, tries }: { fails: (plan: Plan) => Promise<boolean>; tries: number },
): Promise<void> {
  const flat = plan.flatMap((round, n) => round.steps.map((step) => ({ n, step })));
  const asPlan = (kept: typeof flat): Plan =>
    plan.flatMap((round, n) => {
      const steps = kept.filter((one) => one.n === n).map(({ step }) => step);
      return steps.length === 0 ? [] : [{ ...round, steps }];
    });
  let kept = flat;
  let left = tries;
  for (let size = Math.ceil(flat.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < kept.length && left > 0;) {
      const without = kept.filter((_, at) => at < from || at >= from + size);
      left -= 1;
      if (without.length > 0 && (await fails(asPlan(without)))) kept = without;
      else from += size;
    }
  }
}
