import { systemClock, type Clock } from '#kernel';
import { inTurns, type Compared, type Works } from '../in-turns.js';
import type { Way } from './way.js';

/** Appends under way at once. */
const WRITERS = 64;
/** Events of one stream: about those of a document. */
const STREAM_EVENTS = 8;

/** Sizes of a run. */
export interface Sizes {
  rounds: number;
  /** Of each writer in a round. */
  appendsPerWriter: number;
  /** Events that are there to be read, and are read in a round. */
  events: number;
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
