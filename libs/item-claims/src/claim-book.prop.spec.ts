import { describe, expect, it } from '@jest/globals';
import { sized } from '../../../test/support/sized.js';
import { ClaimBook, predecessorsIn, type OwnClaim } from './claim-book.js';
import type { NamedItems } from './named-items.js';

/** Repeat a run with ITEM_CLAIMS_SEED. */
const SEED = Number(process.env['ITEM_CLAIMS_SEED'] ?? 20_261_123);
const RUNS = sized({ test: 60, soak: 300 });
const STEPS = 60;

/** A number from 0 to below the given one. */
function chanceOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The same rules, written as plainly as can be: sets of items, compared pair by pair. */
class Model {
  readonly open: { holder: number; unit: string; named: Set<string>; around: Set<string> }[] = [];
  readonly inside = new Map<string, Set<string>>();

  enter(holder: number, unit: string, { items, places, isWholePlace }: NamedItems): void {
    for (const { item, parent } of items)
      if (parent !== undefined) this.inside.set(item, (this.inside.get(item) ?? new Set()).add(parent));
    const named = new Set(items.flatMap(({ item, parent }) => (parent === undefined ? [item] : [item, parent])));
    let around = new Set<string>();
    for (let size = -1; size !== around.size;) {
      size = around.size;
      around = new Set([...named, ...around].flatMap((one) => [...(this.inside.get(one) ?? [])]).concat([...around]));
    }
    for (const one of named) around.delete(one);
    for (const place of places) (isWholePlace ? named : around).add(place);
    this.open.push({ holder, unit, named, around });
  }

  /** Everybody whom the newest one meets. */
  metByNewest(): Set<number> {
    const mine = this.open.at(-1);
    if (mine === undefined) return new Set();
    const meets = (other: typeof mine): boolean =>
      [...mine.named].some((one) => other.named.has(one) || other.around.has(one)) ||
      [...mine.around].some((one) => other.named.has(one));
    return new Set(this.open.filter((one) => one.unit !== mine.unit && meets(one)).map((one) => one.holder));
  }

  leave(holder: number): void {
    this.open.splice(
      this.open.findIndex((one) => one.holder === holder),
      1,
    );
  }
}

const toldOf = (holder: number) => ({ commandId: `c-${holder}`, requestId: `r-${holder}` });

describe(`claims on items (seed ${SEED}; repeat with ITEM_CLAIMS_SEED)`, () => {
  it('meet whom the rules say, and nobody else', () => {
    for (let run = 0; run < RUNS; run += 1) {
      const chance = chanceOf(SEED + run);
      const [book, model] = [new ClaimBook(), new Model()];
      for (let holder = 1; holder <= STEPS; holder += 1) {
        const gone = model.open[chance(model.open.length + 2)];
        if (gone !== undefined) {
          book.leave(gone.holder);
          model.leave(gone.holder);
        }
        const item = (): string => (chance(3) === 0 ? `box-${chance(4)}` : `pack-${chance(9)}`);
        const into = chance(4) === 0 ? `box-${chance(4)}` : undefined;
        const items = [...new Set([item(), item()])].map((one) => ({
          item: one,
          parent: one === into ? undefined : into,
        }));
        const isWholePlace = chance(6) === 0;
        const named: NamedItems = {
          ...{ items: isWholePlace ? [] : items, places: [`place-${chance(3)}`], isWholePlace },
          change: undefined,
        };
        const unit = chance(5) === 0 ? 'group' : `u-${holder}`;
        const own: OwnClaim[] = book.claimsOf(named);
        const meetings = book.meetings(unit, own);
        model.enter(holder, unit, named);
        const met = new Set(meetings.map((one) => one.holder));
        expect({ run, holder, met: [...met].sort() }).toEqual({ run, holder, met: [...model.metByNewest()].sort() });
        // Each one not named is waited for by a named one: on each item the newest, down to the newest exclusive one.
        const told = predecessorsIn(meetings).map((one) => one.requestId);
        expect(told.length > 0).toBe(met.size > 0);
        if (met.size > 0) expect(told[0]).toBe(toldOf(Math.max(...met)).requestId);
        book.enter({ holder, unit, told: toldOf(holder) }, own);
      }
    }
  });

  it('name each predecessor once, with the items in which the two meet', () => {
    const on = (item: string, holder: number, isExclusive = true) => ({
      ...{ item, holder, unit: `u-${holder}`, isExclusive },
      told: toldOf(holder),
    });
    expect(
      predecessorsIn([on('a', 1), on('a', 2, false), on('a', 3, false), on('b', 3), on('a', 0), on('b', 1)]),
    ).toEqual([
      { ...toldOf(3), items: ['a', 'b'], itemCount: 2 },
      { ...toldOf(2), items: ['a'], itemCount: 1 },
      { ...toldOf(1), items: ['a'], itemCount: 1 },
    ]);
    const many = predecessorsIn(Array.from({ length: 300 }, (_, n) => on(`i-${n}`, n)));
    expect([many.length, many[0]?.commandId]).toEqual([100, 'c-299']);
  });
});
