import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkDigitOf } from '#kernel';
import { ANSWERS } from '../../apps/gateway/src/api/answers.js';
import { commandHere } from '../support/command-here.js';
import { buildPrograms } from './built-programs.js';
import { quickStack } from './quick-stack.js';
import type { Stack } from './stack.js';
import { reconcileHere } from './started-reconcile.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const sgtin = (n: number): string => `${GTIN}E${String(n).padStart(12, '0')}`;
const box = (n: number): string => {
  const digits = `0460000000000070${n}`;
  return `${digits}${checkDigitOf(digits)}`;
};
const PLACE = '00000000100101';
const OTHER_PLACE = '00000000100102';
const ELSEWHERE_IN_BOX = 21;
const ELSEWHERE = 5;

let stack: Stack;
beforeAll(async () => {
  await buildPrograms();
  stack = await quickStack('interface-v1', { exportMs: 1_000 });
  const ours = { owner: 'own', place: PLACE, status: 'in_circulation' };
  await stack.control('/plant', {
    ranges: [
      { ...ours, gtin: GTIN, prefix: 'E', from: 0, count: 5 },
      { ...ours, gtin: GTIN, prefix: 'E', from: ELSEWHERE, count: 1, place: OTHER_PLACE },
    ],
    packs: [
      ...[10, 11].map((n) => ({ ...ours, sgtin: sgtin(n), sscc: box(1) })),
      { ...ours, sgtin: sgtin(20), sscc: box(2) },
      { ...ours, sgtin: sgtin(ELSEWHERE_IN_BOX), sscc: box(2), place: OTHER_PLACE },
    ],
  });
  const items = [...[0, 1, 2, 3, 4, ELSEWHERE].map(sgtin), ...[1, 2, 3].map(box)];
  write('stock.csv', ['KM;Branch', ...items.map((one) => `${one};${PLACE}`), ''].join('\n'));
  write('mapping.json', mapping({ item: 'KM', place: 'Branch' }));
  write('settings.json', JSON.stringify({ containersAsked: 1 }));
}, 600_000);
afterAll(() => stack.stop());

const fileOf = (name: string): string => join(stack.folder, name);
const write = (name: string, text: string): void => writeFileSync(fileOf(name), text);
const mapping = (columns: Record<string, string>): string => JSON.stringify({ format: 'csv', delimiter: ';', columns });

/** Behind every answer of the registry, so that none is younger than the stock. */
const SOON = new Date(Date.now() + 3_600_000).toISOString();

interface Told {
  run: string;
  folder: string;
  unconfirmed: boolean;
  counts: Record<string, number>;
}

async function compared(...more: string[]): Promise<Told> {
  const { stdout, stderr } = await reconcileHere(stack, [
    ...[fileOf('stock.csv'), '--mapping', fileOf('mapping.json'), '--moment', SOON, '--json', ...more],
  ]);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Told;
}

async function shown(runId: string) {
  const answer = await fetch(`${stack.gateway.url}/v1/reconciliations?limit=20`);
  return ANSWERS.ReconciliationPage.parse(await answer.json()).items.find(({ id }) => id === runId)?.packs;
}

/** Items of the findings, of one code or of all. */
async function itemsOf({ run }: Told, code?: string): Promise<string[]> {
  const chosen = code === undefined ? [] : ['--code', code];
  const { stdout } = await reconcileHere(stack, ['findings', run, ...chosen, '--ndjson', '-']);
  const lines = stdout.trimEnd().split('\n');
  return lines.flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { item: string }).item])).sort();
}

describe('containers of the stock in a run by export', () => {
  it('are asked about one after the other, run by run, and the packs in them are asked by name', async () => {
    const runs = [];
    for (let n = 0; n < 4; n += 1) {
      const told = await compared('--account', 'main', '--way', 'export', '--settings', fileOf('settings.json'));
      const reading = (await shown(told.run))?.reading;
      expect(reading).toMatchObject({ containers: 1, exported: { refused: 0 } });
      // The export is some hours old and has none of these packs. Those in a box are known where it is asked about.
      const isInside = reading?.containers_through === box(2);
      const elsewhere = [ELSEWHERE, ...(isInside ? [ELSEWHERE_IN_BOX] : [])].map(sgtin);
      expect(await itemsOf(told, 'owner_or_branch_mismatch')).toEqual(elsewhere);
      const boxes = (await itemsOf(told)).filter((item) => item.length === 18);
      expect(boxes).toEqual(reading?.containers_through === box(3) ? [box(3)] : []);
      runs.push(reading);
    }
    const through = runs.map((one) => one?.containers_through);
    expect(new Set(through.slice(0, 3))).toEqual(new Set([1, 2, 3].map(box)));
    expect(through[3]).toBe(through[0]);
    expect(runs.map((one) => one?.containers_behind)).toEqual([undefined, ...through.slice(0, 3)]);
    expect((await stack.control<{ byRule: object }>('/violations')).byRule).toEqual({});
  }, 300_000);
});

describe('an export that a person has downloaded', () => {
  const snapshot = (): string => fileOf('downloaded');
  const environment = (): Record<string, string> => ({
    ...{ DATA_DIR: fileOf('data'), DATABASE_URL: stack.env['DATABASE_URL'] ?? '', SEGMENTS_MEMORY_MB: '200' },
    PEDIGREE_URL: stack.gateway.url,
  });
  const openCases = ({ run }: Told, ...more: string[]) =>
    commandHere(['cases', 'open', run, '--json', ...more], environment());

  beforeAll(async () => {
    // A day old: since then pack 0 was sold back to us, and pack 1 is as it was.
    const rows = [0, 1, 2, 3, 4].map((n) => `${sgtin(n)};${n === 0 ? 'in_sale' : 'in_circulation'};${PLACE}`);
    write('registry.csv', ['sgtin;status;place', ...rows, ''].join('\n'));
    write('registry.json', mapping({ item: 'sgtin', status: 'status', place: 'place' }));
    const day = new Date(Date.now() - 86_400_000).toISOString();
    const { status, stderr } = await commandHere(
      [
        ...['stock', 'import', fileOf('registry.csv'), '--kind', 'registry', '--mapping', fileOf('registry.json')],
        ...['--moment', day, '--out', snapshot()],
      ],
      environment(),
    );
    if (status !== 0) throw new Error(stderr);
  }, 60_000);

  it('opens no case by itself, says so, and opens them where a person insists', async () => {
    const told = await compared('--registry', snapshot());
    expect([told.unconfirmed, await itemsOf(told, 'sold_in_registry_in_stock_here')]).toEqual([true, [sgtin(0)]]);
    expect(await shown(told.run)).toMatchObject({ registry_unconfirmed: true, calls: 0 });
    const refused = await openCases(told);
    expect([refused.status, refused.stdout]).not.toEqual([0, expect.anything()]);
    expect(refused.stderr).toContain('nobody asked the registry about what was found, so no case opens');
    const opened = await openCases(told, '--unconfirmed', '--reason', 'the registry is away for days');
    expect(JSON.parse(opened.stdout)).toMatchObject({ opened: expect.any(Number) });
  }, 60_000);

  it('is confirmed on the live registry with an account: what it had wrong is no finding', async () => {
    const told = await compared('--registry', snapshot(), '--account', 'main');
    expect(told.unconfirmed).toBe(false);
    expect(await itemsOf(told, 'sold_in_registry_in_stock_here')).toEqual([]);
    expect(await itemsOf(told, 'owner_or_branch_mismatch')).toEqual([sgtin(ELSEWHERE)]);
    const packs = await shown(told.run);
    expect(packs?.registry_unconfirmed).toBeUndefined();
    expect(packs?.reading?.exported).toMatchObject({ rows: 5, stood: 4, given: expect.any(String) });
    expect((await openCases(told)).status).toBe(0);
  }, 60_000);
});
