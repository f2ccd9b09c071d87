import { createHash } from 'node:crypto';

/** Packs that are held at a time. */
const MOST_AT_ONCE = 250_000;
const MOST_PIECES = 4_096;

export interface PackCount {
  packs: number;
  /** Of these, packs of which no line tells the series. */
  packsWithoutSeries: number;
}

/**
 * Counts each pack once, however many lines name it. Where there are more packs than may be held, lines are read again,
 * for another piece of the packs each time: memory does not grow with the list.
 * `lines`: the same lines whenever it is called.
 */
export async function countPacks(
  lines: () => AsyncIterable<{ item: string; series: string }>,
  mostAtOnce = MOST_AT_ONCE,
): Promise<PackCount> {
  const counted: PackCount = { packs: 0, packsWithoutSeries: 0 };
  for (let [piece, pieces] = [0, 1]; piece < pieces; piece += 1) {
    /** Whether any line tells its series. */
    const held = new Map<string, boolean>();
    for await (const { item, series } of lines()) {
      if (pieceOf(item, pieces) !== piece) continue;
      // A pack stands in the list once for each decision, and some of these lines may leave out its series.
      held.set(item, series !== '' || held.get(item) === true);
      // Pieces behind the first are as large as it, for they go by a digest.
      while (piece === 0 && held.size > mostAtOnce) pieces = halved(held, pieces);
      if (pieces > MOST_PIECES) throw new Error(`the list names more than ${mostAtOnce * MOST_PIECES} packs`);
    }
    counted.packs += held.size;
    for (const isTold of held.values()) counted.packsWithoutSeries += isTold ? 0 : 1;
  }
  return counted;
}

/** Leaves in the first piece what is of it when there are twice as many, and returns how many there are. */
function halved(held: Map<string, boolean>, pieces: number): number {
  for (const one of held.keys()) if (pieceOf(one, 2 * pieces) !== 0) held.delete(one);
  return 2 * pieces;
}

const pieceOf = (item: string, pieces: number): number =>
  pieces === 1 ? 0 : createHash('md5').update(item).digest().readUInt32LE() % pieces;
