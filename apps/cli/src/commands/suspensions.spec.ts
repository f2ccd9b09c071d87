import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { GatewayClient } from '../gateway-client.js';
import { listSuspendedLists, showSuspension, suspensionLetter } from './suspensions.js';

const asked: string[] = [];
const gateway = {
  stream: (path: string, accept: string) => {
    asked.push(path);
    return Promise.resolve(Readable.from([Buffer.from(`as ${accept}`)]));
  },
} as unknown as GatewayClient;

/** What is printed on standard output meanwhile. */
async function printed(run: () => Promise<unknown>): Promise<string> {
  let text = '';
  jest.spyOn(process.stdout, 'write').mockImplementation(((part: string, done?: (error?: Error) => void) => {
    text += part;
    done?.();
    return true;
  }) as typeof process.stdout.write);
  jest.spyOn(process.stderr, 'write').mockImplementation(() => true);
  await run();
  jest.restoreAllMocks();
  return text;
}
afterEach(() => {
  jest.restoreAllMocks();
});

describe('a suspension', () => {
  it('shows the packs whose series nobody has told once for a product, whichever of its series are meant', async () => {
    const [gtin, branches] = ['04600000000015', [{ branch: 'P1', standing: 'in_stock', packs: 4, recent: true }]];
    const found = {
      ...{ suspension_id: 's', source: 'list', action: 'suspend', product: 'P', series: 'A1', look_alikes: [] },
      ...{ matches: [], timeline: [], affected: ['A1', 'A2'].map((series) => ({ gtin, series, branches: [] })) },
      series_unknown: [{ gtin, packs: 4, branches }],
    };
    const reading = { raw: () => Promise.resolve(found) } as unknown as GatewayClient;
    const words = await printed(() => showSuspension(reading, 's', { recent: '90' }));
    expect(words.match(/\d+ packs of \d+ have no series/g)).toEqual([`4 packs of ${gtin} have no series`]);
  });
});

describe('the versions of a list', () => {
  it('show how many entries nobody understands: who confirms a doubted one answers for these', async () => {
    const version = {
      ...{ source: 'list', fetched_at: '2026-03-01T12:00:00Z', series: 5, packs: 9, appeared: 0, vanished: 1 },
      ...{ not_understood: 4711, doubt: 'not_understood', list_sha256: 'a'.repeat(64) },
    };
    const reading = { raw: () => Promise.resolve({ items: [version] }) } as unknown as GatewayClient;
    expect(await printed(() => listSuspendedLists(reading, { limit: '9' }))).toMatch(/ 4711 +not_understood +a{64}/);
  });
});

describe('what a suspension stands by', () => {
  const DATED = { number: '7', date: '2026-03-01' };
  it.each([
    [{ source: 'list' }, 'the list'],
    [{ source: 'letter', ...DATED, from: 'the inspectorate' }, 'letter 7 of 2026-03-01 (the inspectorate)'],
    [{ source: 'decision', ...DATED }, 'decision 7 of 2026-03-01'],
    [{ source: 'decision', decision_id: 'h1' }, 'decision h1'],
  ])('%j is %s', async (by, words) => {
    const found = {
      ...{ suspension_id: 's', action: 'suspend', product: 'P', series: 'A1', look_alikes: [], matches: [] },
      ...{ timeline: [], affected: [], series_unknown: [], ...by },
    };
    const reading = { raw: () => Promise.resolve(found) } as unknown as GatewayClient;
    const text = await printed(() => showSuspension(reading, 's', { recent: '90' }));
    expect(/^by\s+(.*?)\s*$/m.exec(text)?.[1]).toBe(words);
  });
});

describe('the reply to a letter', () => {
  it('is a page in a file, or on standard output', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pedigree-letter-'));
    const file = join(folder, 'reply.html');
    expect(await printed(() => suspensionLetter(gateway, 'a/b', { html: file }))).toBe('');
    expect(readFileSync(file, 'utf8')).toBe('as text/html');
    rmSync(folder, { recursive: true });
    expect(await printed(() => suspensionLetter(gateway, 'a/b', { html: '-' }))).toBe('as text/html');
    expect([existsSync('-'), asked.at(-1)]).toEqual([false, '/v1/suspensions/a%2Fb/reply']);
  });

  it('is written in one format only', async () => {
    const before = asked.length;
    await expect(suspensionLetter(gateway, 'a', { html: '-', csv: '-' })).rejects.toThrow(
      '--html and --csv: choose one',
    );
    expect(asked).toHaveLength(before);
  });
});
