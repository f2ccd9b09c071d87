import { beforeEach, describe, expect, it } from '@jest/globals';
import { typedEvents } from '#event-store';
import type { Sha256 } from '#kernel';
import { jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import { MovementReader } from './read-movements.js';
import type { HistoryEvent } from './runs.js';

let log: LogOfTest;
let asked: Sha256[][];
let missing: boolean;

beforeEach(() => {
  log = new LogOfTest();
  [asked, missing] = [[], false];
  for (let n = 0; n < 6; n += 1) log.document({ docType: 701, items: [pack(2 * n), pack(2 * n + 1)] });
});

const reader = (items = 4) =>
  new MovementReader({
    evidence: Object.assign(Object.create(log.evidence) as typeof log.evidence, {
      getMany: (digests: Sha256[]) => {
        asked.push(digests);
        return missing ? Promise.resolve(new Map<Sha256, Buffer>()) : log.evidence.getMany(digests);
      },
    }),
    documents: jsonDocuments,
    bounds: { bytes: 1_000_000, items },
    runItems: 1_000,
  });
const events = (): HistoryEvent[] => typedEvents<HistoryEvent>(log.events);
/** Lets all run that only waits for memory. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('movements that are read ahead', () => {
  it('are those that would be read when asked for, and cost no second look at the evidence', async () => {
    const ahead = reader();
    const alone = await reader().read(events());
    ahead.begin(events());
    await settled();
    const looks = asked.length;
    expect(await ahead.read(events())).toEqual(alone);
    expect(asked.length).toBe(looks);
    expect(alone.runs.map(({ movements }) => movements.length)).toEqual([2]);
    // The rest, with a longer page than was asked for then.
    const rest = events().slice(alone.events);
    ahead.begin(rest.slice(0, 4));
    expect(await ahead.read(rest)).toEqual(await reader().read(rest.slice(0, 4)));
  });

  it('are not taken for a smaller part of the page, nor for another log at the same position', async () => {
    const ahead = reader(100);
    ahead.begin(events());
    const first = events().slice(0, 3);
    expect(await ahead.read(first)).toEqual(await reader(100).read(first));
    ahead.begin(events());
    const other = events().map((event) => ({ ...event, id: `${event.id}-other` }));
    const looks = asked.length;
    await ahead.read(other);
    expect(asked.length).toBeGreaterThan(looks + 1);
  });

  it('show what failed when they are asked for, and are read anew after that', async () => {
    const ahead = reader();
    missing = true;
    ahead.begin(events());
    await settled();
    missing = false;
    await expect(ahead.read(events())).rejects.toThrow('is missing');
    expect((await ahead.read(events())).runs.map(({ movements }) => movements.length)).toEqual([2]);
  });

  it('wait until the program is free', async () => {
    const ahead = reader();
    const release = ahead.hold();
    ahead.begin(events());
    await settled();
    expect(asked).toEqual([]);
    release();
    await settled();
    expect(asked.length).toBe(1);
  });
});
