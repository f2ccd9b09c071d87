import type { Clock } from '#kernel';

/**
 * What so many operations took: those of a second, and CPU of this process alone for each. The engine's own work is in
 * another process.
 */
interface Measured {
  perSecond: number;
  cpuUs: number;
}

/**
 * Ours and the bare calls in one kind of work, round by round one after the other, for machines are noisy: whoever is
 * first changes.
 */
export interface Compared {
  own: Measured;
  bare: Measured | undefined;
  /** Ours as a part of the bare calls a second, the median of the rounds. */
  ofBare: number | undefined;
}

type Work = (round: number) => Promise<void> | undefined;
export type Works = { own: Work; bare: Work | undefined; count: number };

/** Each in its turn, so many rounds. The middle of the rounds counts. */
export async function inTurns(rounds: number, { own, bare, count }: Works, clock: Clock): Promise<Compared> {
  const owns: Measured[] = [];
  const bares: Measured[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const both: [Measured[], Work | undefined][] = [
      [owns, own],
      [bares, bare],
    ];
    for (const [found, work] of round % 2 === 0 ? both : both.reverse())
      if (work !== undefined) found.push(await measured(() => work(round), count, clock));
  }
  const ofBare = bares.map(({ perSecond }, n) => (owns[n] as Measured).perSecond / perSecond);
  return {
    own: middle(owns),
    bare: bares.length === 0 ? undefined : middle(bares),
    ofBare: ofBare.length === 0 ? undefined : median(ofBare),
  };
}

async function measured(work: () => Promise<void> | undefined, count: number, clock: Clock): Promise<Measured> {
  const [fromMs, before] = [clock.monotonicMs(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { perSecond: (count * 1_000) / (clock.monotonicMs() - fromMs), cpuUs: (user + system) / count };
}

const middle = (all: Measured[]): Measured => ({
  perSecond: median(all.map((one) => one.perSecond)),
  cpuUs: median(all.map((one) => one.cpuUs)),
});

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(half)] as number) + (sorted[Math.ceil(half)] as number)) / 2;
}
