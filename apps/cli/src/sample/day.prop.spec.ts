import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { buildDocument, checkDocument } from '#documents';
import { hasValidCheckDigit, isSgtin, isSscc } from '#kernel';
import { sandboxFile } from '../config.js';
import { sampleDay, type DayOptions, type Expected, type SampleCommand } from './day.js';
import { erpCommand } from './feed.js';
import { readWorld } from './world.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
const world = readWorld(sandboxFile('data/world.json'));
const ACCOUNTS = ['main', 'north', 'south', 'retail'];
const AT = new Date('2026-03-02T07:00:00Z');

const runKey = fc.string({
  unit: fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'),
  minLength: 5,
  maxLength: 5,
});
const options = fc.record({
  seed: fc.nat({ max: 4_294_967_295 }),
  run: runKey,
  consignments: fc.integer({ min: 1, max: 60 }),
  accounts: fc.subarray(ACCOUNTS, { minLength: 1 }),
});
const dayOf = (some: Pick<DayOptions, 'seed' | 'run' | 'consignments' | 'accounts'>): SampleCommand[] =>
  sampleDay({ ...some, world, at: AT });

function check(property: (some: Parameters<typeof dayOf>[0]) => void, numRuns = 25): void {
  fc.assert(fc.property(options, property), { seed: SEED, numRuns });
}

/** Every SGTIN and SSCC that a command's document names. */
const itemsOf = (command: SampleCommand): string[] =>
  (JSON.stringify(command.document).match(/"(\d{18}|\d{14}[A-Z0-9]{13})"/g) ?? []).map((text) => text.slice(1, -1));
const countBy = (day: SampleCommand[]): Record<string, number> =>
  Object.fromEntries(
    [...new Set(day.map((one) => one.expected))].map((expected) => [
      expected,
      day.filter((one) => one.expected === expected).length,
    ]),
  );

describe('the sample day as it is fed', () => {
  const day = sampleDay({ world, seed: 1, run: 'ABC12', accounts: ACCOUNTS, at: AT });

  it('has 300 documents over 30,000 packs of ours, several accounts, and every kind of document', () => {
    expect(day).toHaveLength(300);
    const arrived = day.filter((one) => one.document.action_id === 701 && one.expected === 'accepted').flatMap(itemsOf);
    expect(new Set(arrived).size).toBe(30_000);
    expect(new Set(day.map((one) => one.account))).toEqual(new Set(ACCOUNTS));
    expect(new Set(day.map((one) => one.document.action_id))).toEqual(new Set([701, 415, 431, 911, 912, 511, 552]));
  });

  it('ends in every way, mostly well', () => {
    const counts = countBy(day);
    for (const expected of ['accepted', 'partial', 'rejected', 'failed'] satisfies Expected[])
      expect(counts[expected]).toBeGreaterThan(0);
    expect(counts['accepted']).toBeGreaterThan(150);
  });
});

describe(`any sample day (seed ${SEED}; repeat with PROPERTY_SEED)`, () => {
  it('is the same for the same seed and run, to the byte', () => {
    check((some) => {
      const bytes = (): string =>
        dayOf(some)
          .map((one, n) => JSON.stringify(erpCommand(one, n)))
          .join('\n');
      expect(bytes()).toBe(bytes());
    }, 5);
  });

  it('shares no pack and no container of ours with the day of another run', () => {
    fc.assert(
      fc.property(options, runKey, (some, otherRun) => {
        fc.pre(otherRun !== some.run);
        const ours = new Set(dayOf(some).flatMap(itemsOf));
        expect(
          dayOf({ ...some, run: otherRun })
            .flatMap(itemsOf)
            .filter((item) => ours.has(item)),
        ).toEqual([]);
      }),
      { seed: SEED, numRuns: 5 },
    );
  });

  it('names each command once, and comes only after earlier ones of the same day', () => {
    check((some) => {
      const seen = new Set<string>();
      for (const command of dayOf(some)) {
        expect(seen.has(command.commandId)).toBe(false);
        expect(command.after.filter((id) => !seen.has(id))).toEqual([]);
        expect(some.accounts).toContain(command.account);
        seen.add(command.commandId);
      }
      expect(seen.size).toBe(4 * (some.consignments ?? 0));
    });
  });

  it(
    'comes after what it needs: whatever an accepted document handles has arrived in a document that it waits for, ' +
      'at once or through others',
    () => {
      check((some) => {
        const day = dayOf(some);
        const byId = new Map(day.map((one) => [one.commandId, one]));
        const before = (one: SampleCommand): SampleCommand[] =>
          one.after.flatMap((id) => [byId.get(id) as SampleCommand, ...before(byId.get(id) as SampleCommand)]);
        for (const command of day.filter((one) => one.expected === 'accepted' && one.document.action_id !== 701)) {
          const introduced = new Set(before(command).flatMap(itemsOf));
          const needed = itemsOf(command).filter((item) => !(command.document.action_id === 911 && isSscc(item)));
          expect(needed.length).toBeGreaterThan(0);
          expect(needed.filter((item) => !introduced.has(item))).toEqual([]);
        }
      }, 10);
    },
  );

  it('names only well-shaped packs, and containers with a right check digit, one for each chain that packs', () => {
    check((some) => {
      const packed: string[] = [];
      for (const command of dayOf(some)) {
        const items = itemsOf(command);
        expect(items.filter((item) => !isSgtin(item) && !(isSscc(item) && hasValidCheckDigit(item)))).toEqual([]);
        expect(new Set(items).size).toBe(items.length);
        if (command.document.action_id === 911) packed.push(...items.filter((item) => isSscc(item)));
      }
      expect(new Set(packed).size).toBe(packed.length);
    });
  });

  it('is made of documents that pass every check of the intake', () => {
    check((some) => {
      for (const command of dayOf(some)) {
        const { items } = checkDocument(buildDocument(command.document));
        const named = new Set(items.flatMap((item) => (item.into === undefined ? [item.id] : [item.id, item.into])));
        expect([...named].sort()).toEqual(itemsOf(command).sort());
      }
    }, 3);
  });
});
