import { systemClock, type Clock } from '#kernel';
import type { Way } from './way.js';

/** Appends under way at once. */
const WRITERS = 64;
/** Events of one stream: about those of a document. */
const STREAM_EVENTS = 8;

/**
 * What so many operations took: those of a second, and CPU of this process alone for each. The engine's own work is in
 * another process.
 */
export interface Measured {
  perSecond: number;
  cpuUs: number;
}

/** Sizes of a run. */
export interface Sizes {
  rounds: number;
  /** Of each writer in a round. */
  appendsPerWriter: number;
  /** Events that are there to be read, and are read in a round. */
  events: number;
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

export interface LogFigures {
  appends: Compared;
  reads: Compared;
  subscribed: Compared;
}

/**
 * Measures one engine. Ours fills the log first, which warms it up; the bare calls append only when all reading is
 * done, for ours cannot read theirs.
 */
export async function measureLog(
  own: Way,
  bare: Way,
  { rounds, appendsPerWriter, events, clock = systemClock }: Sizes & { clock?: Clock },
): Promise<LogFigures> {
  const compare = (works: Works): Promise<Compared> => inTurns(rounds, works, clock);
  const fill = Math.ceil(events / WRITERS);
  await appendAll(own, 'fill', fill);
  const reads = await compare({ own: () => own.read(events), bare: () => bare.read(events), count: events });
  const following = bare.follow?.bind(bare);
  const subscribed = await compare({
    own: () => own.follow?.(events),
    bare: following && (() => following(events)),
    count: events,
  });
  await appendAll(bare, 'warm', fill);
  const appends = await compare({
    own: (round) => appendAll(own, `own-${round}`, appendsPerWriter),
    bare: (round) => appendAll(bare, `bare-${round}`, appendsPerWriter),
    count: appendsPerWriter * WRITERS,
  });
  return { appends, reads, subscribed };
}

async function appendAll(way: Way, name: string, perWriter: number): Promise<void> {
  const writer = async (_: unknown, hand: number): Promise<void> => {
    for (let n = 0; n < perWriter; n += 1)
      await way.append(`bench-${name}-${hand}-${Math.floor(n / STREAM_EVENTS)}`, n % STREAM_EVENTS);
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}

type Work = (round: number) => Promise<void> | undefined;
type Works = { own: Work; bare: Work | undefined; count: number };

async function inTurns(rounds: number, { own, bare, count }: Works, clock: Clock): Promise<Compared> {
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

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(half)] as number) + (sorted[Math.ceil(half)] as number)) / 2;
}
