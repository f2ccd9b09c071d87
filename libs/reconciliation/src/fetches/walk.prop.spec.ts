import { describe, expect, it } from '@jest/globals';
import { chooser } from '../../test/world.js';
import { BEGINNING, nextPlace, type Place } from './walk.js';

const SEED = Number(process.env['PEDIGREE_SEED'] ?? Math.floor(Math.random() * 1_000_000));
const ROUNDS = 300;
const MOST_PAGES = 400;

describe(`a walk through a list that others change (seed ${SEED})`, () => {
  it('reads all that stays, and ends', () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const choose = chooser(SEED + round);
      const pageSize = choose([2, 3, 5, 10]);
      let list = Array.from({ length: choose([0, 1, 7, 30, 61]) }, (_, n) => `k${n}`);
      const staying = new Set(list);
      const read = new Set<string>();
      let [place, pages, fresh] = [BEGINNING as Place | 'end' | 'short', 0, 0];
      for (; typeof place === 'object' && pages < MOST_PAGES; pages += 1) {
        const keys = list.slice(place.offset, place.offset + pageSize);
        keys.forEach((key) => read.add(key));
        // Now and then a total that is too low, or an entry twice.
        const total = choose([list.length, list.length, Math.max(0, list.length - 3)]);
        const shown = choose([0, 0, 0, 1]) === 1 ? [...keys, ...keys.slice(0, 1)] : keys;
        place = nextPlace(place, { keys: shown, total, pageSize });
        // The list is busy for a while only: one that moves for ever is ended by the limit of the calls.
        for (let n = choose([0, 0, 1, 4]); n > 0 && pages < 40; n -= 1) {
          const at = choose([0, 1, 2, Math.floor(list.length / 2), list.length]);
          if (choose([true, false])) list = [...list.slice(0, at), `n${(fresh += 1)}`, ...list.slice(at)];
          else list.splice(at, 1).forEach((gone) => staying.delete(gone));
        }
      }
      const missed = [...staying].filter((key) => !read.has(key));
      expect({ round, missed, end: place }).toEqual({ round, missed: [], end: 'end' });
    }
  });

  it.each([
    ['at its end', ['a', 'b', 'c', 'c']],
    ['alone', ['a', 'a']],
    ['on whole pages', ['a', 'b', ...Array.from({ length: 7 }, () => 'c'), 'd', 'e', 'e']],
  ])('ends where an entry stands in it more than once, %s', (_, list) => {
    for (const pageSize of [2, 3, 5]) {
      const read = new Set<string>();
      let place: Place | 'end' | 'short' = BEGINNING;
      for (let pages = 0; typeof place === 'object' && pages < MOST_PAGES; pages += 1) {
        const keys = list.slice(place.offset, place.offset + pageSize);
        keys.forEach((key) => read.add(key));
        place = nextPlace(place, { keys, total: list.length, pageSize });
      }
      expect([place, [...read]]).toEqual(['end', [...new Set(list)]]);
    }
  });

  it.each([
    ['of some entries', ['a', 'b', 'c', 'd', 'e']],
    ['of none', []],
  ])('%s of which the registry counts more than it shows is short, after some tries', (_, list) => {
    let place: Place | 'end' | 'short' = BEGINNING;
    let pages = 0;
    for (; typeof place === 'object' && pages < MOST_PAGES; pages += 1) {
      // As it is kept between two pages.
      const at = JSON.parse(JSON.stringify(place)) as Place;
      place = nextPlace(at, { keys: list.slice(at.offset, at.offset + 3), total: list.length + 1, pageSize: 3 });
    }
    expect([place, pages < 50]).toEqual(['short', true]);
  });

  it('that counts right again is read to its end', () => {
    const list = ['a', 'b', 'c', 'd', 'e'];
    let place: Place | 'end' | 'short' = BEGINNING;
    for (let pages = 0; typeof place === 'object' && pages < MOST_PAGES; pages += 1) {
      const keys = list.slice(place.offset, place.offset + 3);
      place = nextPlace(place, { keys, total: list.length + (pages < 9 ? 1 : 0), pageSize: 3 });
    }
    expect(place).toBe('end');
  });
});
