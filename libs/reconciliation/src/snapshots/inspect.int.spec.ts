import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Duck } from '#duckdb';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { inspectFile, type Proposal } from './inspect.js';

const SGTIN = '04601234567893ABCDEFGH12345';
let folder: TemporaryFolder;
beforeEach(async () => (folder = await temporaryFolder()));
afterEach(() => folder.remove());

async function inspected(bytes: string | Buffer): Promise<Proposal> {
  const path = join(folder.path, 'file');
  await writeFile(path, bytes);
  return inspectFile(path, 'stock', { memoryMb: 200, threads: 1, temporary: folder.path });
}

describe('the proposal for a stock file', () => {
  it('is that of the pharmacy layout, by its content', async () => {
    const { mapping, preset, items } = await inspected(
      `GTIN_SGTIN;GTIN;SGTIN;Серия\n${SGTIN};04601234567893;ABCDEFGH12345;A1\n`,
    );
    expect({ preset, items }).toEqual({ preset: 'pharmacy', items: { read: 1, of: 1, first: SGTIN } });
    expect(mapping).toMatchObject({
      format: 'csv',
      delimiter: ';',
      encoding: 'utf-8',
      columns: { item: 'GTIN_SGTIN', series: 'Серия' },
    });
  });

  it('is that of the cabinet layout, and asks for words that nobody knows', async () => {
    const head = '"sgtin","gtin","status","batch","expiration_date","branch_id","state"';
    const row = `"${SGTIN}","04601234567893","В обороте","null","31.12.2027","00000000000001","lost"`;
    const { mapping, preset, remarks } = await inspected(`${head}\n${row}\n`);
    expect(preset).toBe('cabinet');
    expect(mapping.columns).toEqual({
      ...{ item: 'sgtin', place: 'branch_id', series: 'batch', expiry: 'expiration_date', state: 'state' },
    });
    expect(remarks).toContain(
      'say in words.state which of sellable, reserved, quarantine, in_transit these are: "lost"',
    );
  });

  it('knows encodings, a missing header, NDJSON and Parquet', async () => {
    const bytes = Buffer.concat([Buffer.from(`KM;`), Buffer.from([0xd1, 0xe5]), Buffer.from(`\n${SGTIN};x\n`)]);
    expect((await inspected(bytes)).mapping).toMatchObject({ encoding: 'windows-1251', columns: { item: 'KM' } });
    expect((await inspected(Buffer.from(`\ufeffKM\tB\r\n${SGTIN}\tx\r\n`, 'utf16le'))).mapping).toMatchObject({
      ...{ encoding: 'utf-16le', delimiter: '\t', columns: { item: 'KM' } },
    });
    expect((await inspected(`${SGTIN};x\n`)).mapping).toMatchObject({ header: false, columns: { item: '1' } });
    expect((await inspected(`{"code": "${SGTIN}", "branch": "P1"}\n`)).mapping).toMatchObject({
      ...{ format: 'ndjson', columns: { item: 'code', place: 'branch' } },
    });
    const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: folder.path });
    const path = join(folder.path, 'file.parquet');
    await duck.run(`COPY (SELECT '${SGTIN}' AS item) TO '${path}' (FORMAT parquet)`);
    await duck.close();
    const { mapping } = await inspectFile(path, 'stock', { memoryMb: 200, threads: 1, temporary: folder.path });
    expect(mapping).toMatchObject({ format: 'parquet', columns: { item: 'item' } });
  });

  it('is none where no column has items', async () => {
    await expect(inspected('a;b\n1;2\n')).rejects.toThrow('no column has SGTINs, SSCCs or scans; there are: a, b');
    await expect(inspected('')).rejects.toThrow('is empty');
  });
});
