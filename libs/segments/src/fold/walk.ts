import { KINDS, releaseAfter, rowUpTo, type Carried } from './containers.js';
import type { Effects } from './documents.js';
import { ENDLESS, firstKey, ORDINALS, rankIn } from './keys.js';
import { DOES } from './meanings.js';
import type { Packs } from './packs.js';

/** A pack was in a container after the document of rank `from`, up to and with that of rank `to`; ENDLESS: still. */
export interface PackStay {
  container: number;
  from: number;
  to: number;
}

/** Places in the arrays of a walk, by the order of KINDS; as flags of a meaning they are 1, 2, 4 and 8. */
export const [APPLIED, STATUS, PLACE, DOUBT] = [0, 1, 2, 3] as const;
const ALL = DOES.applied + DOES.status + DOES.place + DOES.doubt;

/** What holds a pack with these stays now; 0 for nothing. */
export const heldNow = ([newest]: readonly PackStay[]): number => (newest?.to === ENDLESS ? newest.container : 0);

/**
 * Walks the movements of one pack after another, from the newest to the oldest: the last one of each kind counts, own
 * or of a container while that held it. One object for all packs, because there are millions of them.
 */
export class Walk {
  /** Key and meaning of the last movement of each kind; a key of -1 for none. */
  readonly key = new Float64Array(KINDS.length);
  readonly meaning = new Int32Array(KINDS.length);
  /** What holds the pack now; 0 for nothing. */
  container = 0;
  /** Whether the rest is not to be used, because a walk over each movement is needed. */
  isUnusual = false;

  constructor(
    readonly packs: Packs,
    private readonly effects: Effects,
    private readonly carried: Carried,
  ) {}

  walk(pack: number): void {
    this.key.fill(-1);
    this.container = 0;
    this.isUnusual = false;
    const packsAnything = this.takeOwn(this.packs.newest[pack] as number);
    if (this.isUnusual || !packsAnything) return;
    // A stay that ended before the pack's own last word on status and place changes nothing.
    const told = Math.min(this.key[STATUS] as number, this.key[PLACE] as number);
    const stays = this.stays(pack, rankIn(told));
    this.container = heldNow(stays);
    for (const stay of stays) this.takeCarried(stay);
  }

  /** Whether it was ever packed. */
  private takeOwn(newest: number): boolean {
    const { before, effect: effectOf, ordinal } = this.packs;
    const { rank, meaning: meaningOf, does: doesOf } = this.effects;
    let [wanted, all] = [ALL, 0];
    for (let row = newest; row >= 0; row = before[row] as number) {
      const effect = effectOf[row] as number;
      const does = doesOf[effect] as number;
      all |= does;
      const found = does & wanted;
      if (found === 0) continue;
      this.take(found, firstKey(rank[effect] as number) + (ordinal[row] as number), meaningOf[effect] as number);
      wanted ^= found;
    }
    this.isUnusual = (all & DOES.unusual) > 0;
    return (all & DOES.packs) > 0;
  }

  private take(found: number, key: number, meaning: number): void {
    for (let kind = 0; kind < KINDS.length; kind += 1) {
      if (((found >> kind) & 1) === 0) continue;
      this.key[kind] = key;
      this.meaning[kind] = meaning;
    }
  }

  /** The last movement of each kind of a container during a stay. */
  private takeCarried({ container, from, to }: PackStay): void {
    const { carried } = this;
    const row = rowUpTo(carried, container, to);
    const first = firstKey(from) + ORDINALS;
    if (row < (carried.begins[container] as number) || (carried.key[row] as number) < first) return;
    for (let kind = 0; kind < KINDS.length; kind += 1) {
      const last = (carried.last[kind] as Int32Array)[row] as number;
      if (last < 0) continue;
      const key = carried.key[last] as number;
      if (key < first || key <= (this.key[kind] as number)) continue;
      this.key[kind] = key;
      this.meaning[kind] = carried.meaning[last] as number;
    }
  }

  /**
   * The stays of a pack that ended after a document, from the newest to the oldest. A document ends stays before it
   * begins new ones; of two containers that it names for a pack the last one counts.
   */
  stays(pack: number, after: number): PackStay[] {
    const { effects, packs } = this;
    const found: PackStay[] = [];
    let [next, of, isPacked] = [ENDLESS, ENDLESS, false];
    for (let row = packs.newest[pack] as number; row >= 0; row = packs.before[row] as number) {
      const effect = packs.effect[row] as number;
      const does = effects.does[effect] as number;
      if ((does & DOES.changes) === 0) continue;
      const rank = effects.rank[effect] as number;
      if (rank !== of) {
        if (of <= after) return found;
        [next, of, isPacked] = [of, rank, false];
      }
      if ((does & DOES.packs) === 0 || isPacked) continue;
      isPacked = true;
      const container = effects.container[effect] as number;
      found.push({ container, from: rank, to: Math.min(next, releaseAfter(this.carried, container, rank)) });
    }
    return found;
  }
}
