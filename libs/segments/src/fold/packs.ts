import { parquet, type Duck } from '#duckdb';
import { CLOSED, type Effects } from './documents.js';
import { BITS_OF_ORDINAL, ORDINALS } from './keys.js';

/** Buckets by the first digit of the item's MD5. */
export const BUCKETS = 16;
const BITS_OF_BUCKET = 4;

/** The rows of a bucket's packs, in Parquet. */
export const inBucket = (bucket: number): string => {
  const [first, last] = [BigInt(bucket) << 60n, ((BigInt(bucket) + 1n) << 60n) - 1n];
  return `x.id BETWEEN ${first}::UBIGINT AND ${last}::UBIGINT`;
};

/**
 * The packs of a bucket, numbered as they are found, each with a chain of its movements from the newest to the oldest.
 * Arrays of numbers, because there are millions of them: the 64 bits of an id are a pair, low half first.
 */
export class Packs {
  count = 0;
  rows = 0;
  ids = new Uint32Array(2 * FIRST_PACKS);
  /** The newest movement of a pack; -1 for none that counts. */
  newest = new Int32Array(FIRST_PACKS);
  /** Of a movement: place of its effect, ordinal, and the movement before it; -1 for none. */
  effect = new Int32Array(FIRST_ROWS);
  ordinal = new Int32Array(FIRST_ROWS);
  before = new Int32Array(FIRST_ROWS);
  /** What looks at slots gave: kept, so that the engine leaves none of them out. */
  touched = 0;
  /**
   * Open addressing by the first bits that differ within a bucket; 0 for an empty slot, else the pack's number and one.
   * Files are sorted by the first digits of the id, so that one row after another looks at slots that are near.
   */
  private slots = new Int32Array(2 * FIRST_PACKS);

  constructor(private readonly effects: Effects) {}

  /** Forgets all packs and keeps the room that they took. */
  clear(): void {
    this.count = 0;
    this.rows = 0;
    this.slots.fill(0);
  }

  async read(duck: Duck, { files, bucket }: { files: string[]; bucket: number }): Promise<void> {
    const effect = `((x.file_index::UBIGINT << ${BITS_OF_ORDINAL} | x.ordinal::UBIGINT) << 32) | x."row"::UBIGINT`;
    const all = duck.numbers(`SELECT x.id, ${effect} FROM ${parquet(files)} x WHERE ${inBucket(bucket)}`);
    for await (const rows of all) {
      this.makeRoom(rows.count);
      this.add(pairsOf(rows.ids(0)), pairsOf(rows.ids(1)));
    }
  }

  /** What makes the state of a pack, as a text: the same for packs that lived the same. */
  lifeOf(pack: number): string {
    let life = '';
    for (let row = this.newest[pack] as number; row >= 0; row = this.before[row] as number)
      life += `${this.effect[row]}.${this.ordinal[row]} `;
    return life;
  }

  /**
   * All as pairs of 32 bits, low half first. `effects`: the row of each effect; and the file of that row, times
   * ORDINALS, plus the ordinal.
   */
  private add(ids: Uint32Array, effects: Uint32Array): void {
    const { begins, rank } = this.effects;
    this.touch(ids);
    for (let n = 0; n < ids.length; n += 2) {
      const file = effects[n + 1] as number;
      const effect = (begins[file >>> BITS_OF_ORDINAL] as number) + (effects[n] as number);
      // A document that is not known yet, or moves nothing, tells nothing; one that counts no longer tells that the
      // pack is there.
      if (rank[effect] === 0) continue;
      const pack = this.numberOf(ids[n] as number, ids[n + 1] as number);
      if (rank[effect] !== CLOSED) this.chain(pack, effect, file & (ORDINALS - 1));
    }
  }

  /**
   * Looks at the slots of some thousand rows, and at nothing else: so the processor fetches many of them at once, where
   * `numberOf` would wait for each.
   */
  private touch(ids: Uint32Array): void {
    const { slots } = this;
    let touched = 0;
    for (let n = 1; n < ids.length; n += 2) touched |= slots[this.slotOf(ids[n] as number)] as number;
    this.touched = touched;
  }

  private numberOf(low: number, high: number): number {
    const { slots, ids } = this;
    const mask = slots.length - 1;
    for (let slot = this.slotOf(high); ; slot = (slot + 1) & mask) {
      const pack = (slots[slot] as number) - 1;
      if (pack < 0) {
        slots[slot] = this.count + 1;
        ids[2 * this.count] = low;
        ids[2 * this.count + 1] = high;
        this.newest[this.count] = -1;
        return this.count++;
      }
      if (ids[2 * pack] === low && ids[2 * pack + 1] === high) return pack;
    }
  }

  private slotOf(high: number): number {
    return (high << BITS_OF_BUCKET) >>> (Math.clz32(this.slots.length) + 1);
  }

  /** Rows come nearly in their order, so that few steps find a place. */
  private chain(pack: number, effect: number, ordinal: number): void {
    const { before, newest } = this;
    const row = this.rows++;
    this.effect[row] = effect;
    this.ordinal[row] = ordinal;
    let above = -1;
    let below = newest[pack] as number;
    while (below >= 0 && this.isAfter(below, row)) {
      above = below;
      below = before[below] as number;
    }
    before[row] = below;
    if (above < 0) newest[pack] = row;
    else before[above] = row;
  }

  private isAfter(one: number, other: number): boolean {
    const { rank } = this.effects;
    const apart = (rank[this.effect[one] as number] as number) - (rank[this.effect[other] as number] as number);
    return apart > 0 || (apart === 0 && (this.ordinal[one] as number) > (this.ordinal[other] as number));
  }

  private makeRoom(more: number): void {
    if (this.rows + more > this.effect.length)
      for (const name of ['effect', 'ordinal', 'before'] as const) this[name] = doubled(this[name]);
    if (this.count + more <= this.newest.length) return;
    this.newest = doubled(this.newest);
    const ids = new Uint32Array(2 * this.ids.length);
    ids.set(this.ids);
    this.ids = ids;
    this.slots = new Int32Array(2 * this.slots.length);
    const mask = this.slots.length - 1;
    for (let pack = 0; pack < this.count; pack += 1) {
      let slot = this.slotOf(ids[2 * pack + 1] as number);
      while ((this.slots[slot] as number) > 0) slot = (slot + 1) & mask;
      this.slots[slot] = pack + 1;
    }
  }
}

const FIRST_PACKS = 2 ** 16;
const FIRST_ROWS = 2 ** 18;

const pairsOf = ({ buffer, byteOffset, length }: BigUint64Array): Uint32Array =>
  new Uint32Array(buffer, byteOffset, 2 * length);

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const twice = new Int32Array(2 * array.length);
  twice.set(array);
  return twice;
}
