// Left to the soak: each tampering of a proof by the program. `npm test` has the proofs of packs in libs.
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { appendFile, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AuditedLog, type TestAuditor } from '../../../auditor/test/audited-log.js';
import { sealSegments } from '../../../reconciler/src/seal-segments.js';
import { Duck, parquet } from '#duckdb';
import { systemClock } from '#kernel';
import { treeInMemory, verifierKeyOf } from '#merkle';
import { migrate } from '#postgres';
import { readModelSchemas } from '#read-models';
import { BLOCK_ROWS, SEGMENT_SEALED, verifyPackProof, type VerifiedPack } from '#proofs';
import {
  FILES,
  segmentParts,
  segments,
  segmentsSchema,
  setOf,
  sweepSegments,
  writeNextSegment,
  type Segment,
  type SegmentParts,
} from '#segments';
import type { ServiceLog } from '#service';
import { sized } from '../../../../test/support/sized.js';
import { boxOf, livesOf, packOf, writeLives } from '../../../../libs/segments/test/lives.js';
import { packProofLines } from './audit-pack.js';
import { cliConfig } from '../config.js';
import { proveNamed, verifyProof } from './audit-proof.js';

const SEED = Number(process.env['PEDIGREE_SEED'] ?? Math.floor(Math.random() * 1_000_000));
const [PACKS, BOXES, DOCUMENTS] = [30, 6, 240];
const UP_TO = 10 * (DOCUMENTS + 1);
const TABLES = 'movement_document, movement_effect, item_movement, containment, sent_document, segment';
/** What a person typed for a code, with Cyrillic letters and a blank. */
const STRANGE = '04607001770001АВС 7';
const told = livesOf(SEED, { packs: PACKS, boxes: BOXES, documents: DOCUMENTS, days: 4 });

let log: AuditedLog;
let auditor: TestAuditor;
let parts: SegmentParts;
const errors: unknown[] = [];
const noted = { error: (one: unknown) => void errors.push(one), warn: () => undefined } as unknown as ServiceLog;

beforeAll(async () => {
  log = await AuditedLog.open();
  await migrate(log.db.pool, [...readModelSchemas, segmentsSchema]);
  auditor = log.auditor('one');
  const plain = segmentParts(log.db.pool, { folder: join(log.place.path, 'segments'), memoryMb: 200, threads: 1 });
  parts = { ...plain, rows: 150 };
  await log.write(30);
  await fill();
  await sign();
});
afterAll(() => log.close());

async function fill(): Promise<void> {
  await writeLives(log.db.pool, told, UP_TO);
  await log.db.pool.query('UPDATE item_movement SET item = $1 WHERE item = $2', [STRANGE, packOf(7)]);
  await log.db.pool.query(
    "UPDATE movement_effect SET error_text = E'no such\\nplace,\\ttoday' WHERE known_from % 3 = 0",
  );
  while ((await writeNextSegment(parts)) !== 'none');
  await sealAll();
}

const sealAll = (): Promise<void> =>
  sealSegments(
    {
      parts,
      pool: log.db.pool,
      store: log.store,
      installation: {
        id: '7a0a24a3-61d5-5a7c-9c5b-0b5a3f6d9c11',
        participant: 'own',
        softwareVersion: '1',
        profile: 'none',
      },
      log: noted,
      clock: systemClock,
    },
    new AbortController().signal,
  );

/** What the reconciler sealed is in the tree, counted, and under a signed checkpoint. */
async function sign(): Promise<void> {
  await auditor.seal();
  await auditor.watch.sign();
  await log.counting().advance();
  await auditor.seal();
  await auditor.watch.sign();
}

async function proven(item: string): Promise<object[]> {
  const lines: object[] = [];
  for await (const line of packProofLines(parts, { pool: log.db.pool, store: log.store, item })) lines.push(line);
  return lines;
}

async function* read(lines: object[]): AsyncGenerator<string> {
  for (const line of lines) yield JSON.stringify(line);
}
const verify = (lines: object[]): Promise<VerifiedPack> => verifyPackProof(read(lines), verifierKeyOf(log.signer));

const sealsInLog = async (): Promise<object[]> =>
  (await log.store.readAll(0n, { limit: 10_000 })).events
    .filter(({ type }) => type === SEGMENT_SEALED)
    .map(({ stream, data }) => ({ stream, ...data }));

const roots = async (): Promise<object[]> =>
  (await segments(log.db.pool)).map(({ from, to, root, closings, closingsSha256 }) => ({
    ...{ from, to, root, closings, closingsSha256 },
  }));

describe('a proof of all movements of a pack', () => {
  it(`has every row of the tables, and says when it counted no longer (seed ${SEED})`, async () => {
    const end = (await segments(log.db.pool)).at(-1)?.to ?? 0n;
    const items = [...Array.from({ length: PACKS + 2 }, (_, n) => packOf(n)), ...[0, 1, 2, 3, 4, 5].map(boxOf)];
    for (const item of items.filter((_, n) => n % sized({ test: 3, soak: 1 }) === 0)) {
      const { rows } = await log.db.pool.query<object>(
        `SELECT i.known_from::text AS position, i.ordinal, d.request_id, e.result, e.status, e.container,
           CASE WHEN d.known_to <= $2 THEN d.known_to::text END AS until
         FROM item_movement i JOIN movement_document d USING (known_from)
           JOIN movement_effect e USING (known_from, effect)
         WHERE i.item = $1 AND i.known_from <= $2 ORDER BY i.known_from, i.ordinal`,
        [item, end],
      );
      const verified = await verify(await proven(item));
      expect(
        verified.movements.map(({ position, ordinal, says, countedUntil }) => ({
          ...{ position: String(position), ordinal, request_id: says.request_id, result: says.result },
          ...{ status: says.status ?? null, container: says.container ?? null },
          until: countedUntil === undefined ? null : String(countedUntil),
        })),
      ).toEqual(rows);
      expect(verified).toMatchObject({ upTo: end, sealedAgain: [], noLaterBefore: { leaves: expect.any(Number) } });
    }
  });

  it('is printed in words and as JSON, and says what it does not cover', async () => {
    const file = join(log.place.path, 'pack.ndjson');
    await writeFile(file, (await proven(packOf(1))).map((line) => `${JSON.stringify(line)}\n`).join(''));
    const printed = async (json: boolean): Promise<string> => {
      const print = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
      try {
        expect(await verifyProof(file, { key: verifierKeyOf(log.signer), json })).toBe(0);
        return print.mock.calls.map(([text]) => String(text)).join('');
      } finally {
        print.mockRestore();
      }
    };
    const end = (await segments(log.db.pool)).at(-1)?.to;
    const words = await printed(false);
    expect(words).toContain(`movements name ${packOf(1)} up to log position ${end}`);
    expect(words).toContain(`NOT COVERED: log positions after ${end}.`);
    expect(words).toMatch(/Not covered: movements of containers that held/);
    expect(JSON.parse(await printed(true))).toMatchObject({
      item: packOf(1),
      complete_up_to_position: String(end),
      sealed_again: [],
    });
    await appendFile(file, '{"segments":1}\n');
    await expect(verifyProof(file, { key: verifierKeyOf(log.signer) })).rejects.toThrow(/behind the end of the proof/);
  });

  it('is recorded as an export before its first byte, and not where nothing goes out', async () => {
    const begun = async (): Promise<object[]> =>
      (await log.store.readAll(0n, { limit: 10_000 })).events
        .filter(({ type }) => type === 'ExportBegun')
        .map(({ data }) => data);
    const segmentsDir = process.env['SEGMENTS_DIR'];
    process.env['SEGMENTS_DIR'] = join(log.place.path, 'segments');
    const seen: number[] = [];
    const print = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
    const prove = (pack: string): Promise<number> => proveNamed(cliConfig({ DATABASE_URL: log.db.url }), { pack });
    try {
      await expect(prove('no pack')).rejects.toMatchObject({ code: 'invalid_parameter' });
      expect([await begun(), print.mock.calls]).toEqual([[], []]);
      expect(await prove(packOf(1))).toBe(0);
      seen.push(print.mock.calls.length);
    } finally {
      print.mockRestore();
      if (segmentsDir === undefined) delete process.env['SEGMENTS_DIR'];
      else process.env['SEGMENTS_DIR'] = segmentsDir;
    }
    expect(seen[0]).toBeGreaterThan(1);
    expect(await begun()).toMatchObject([
      { what: 'pedigree audit prove', format: 'application/x-ndjson', filter: { pack: packOf(1) }, address: 'host' },
    ]);
  });

  it('is not made from files that hold other rows than were sealed', async () => {
    const [first] = (await segments(log.db.pool)) as [Segment];
    const path = parts.files.path(setOf(first), FILES.effects);
    const before = await readFile(path);
    await changeValue(path, 'status', 'other');
    // Their lengths are as the row says: only what they hold is another.
    const bytes = (await stat(path)).size;
    const files = first.files.map((file) => (file.name === FILES.effects ? { ...file, bytes } : file));
    await put(first, { files: JSON.stringify(files) });
    await expect(proven(await itemIn(first))).rejects.toThrow(/hold other rows than were sealed/);
    await writeFile(path, before);
    await put(first, { files: JSON.stringify(first.files) });
  });

  it('is not made where the table has other hashes of blocks beside, or another root, than were sealed', async () => {
    const first = (await segments(log.db.pool)).find((one) => one.packRows + one.containerRows > BLOCK_ROWS) as Segment;
    const { rows } = await log.db.pool.query<{ blocks: Buffer }>('SELECT blocks FROM segment WHERE to_position = $1', [
      first.to,
    ]);
    const { blocks } = rows[0] as { blocks: Buffer };
    const item = await itemIn(first);
    const { length } = await proven(item);
    // All hashes but that of the first block, which has the item.
    const beside = Buffer.concat([blocks.subarray(0, 32), Buffer.alloc(blocks.length - 32, 1)]);
    await put(first, { blocks: beside });
    await expect(proven(item)).rejects.toThrow(/the hashes of the blocks of .* have not its root/);
    const hashes = Array.from({ length: blocks.length / 32 }, (_, n) => beside.subarray(n * 32, n * 32 + 32));
    await put(first, { root: treeInMemory(hashes).root.toString('hex') });
    await expect(proven(item)).rejects.toThrow(/has another root than the last seal under the checkpoint/);
    await put(first, { blocks, root: first.root });
    expect(await proven(item)).toHaveLength(length);
  });
});

/** The first item in the tree of a segment. */
async function itemIn(segment: Segment): Promise<string> {
  const duck = await Duck.open(parts.duck);
  try {
    const file = parquet([parts.files.path(setOf(segment), FILES.packs)]);
    return (await duck.rows<{ item: string }>(`SELECT item FROM ${file} LIMIT 1`))[0]?.item ?? '';
  } finally {
    await duck.close();
  }
}

/** Every value of a column of a Parquet file is another. */
async function changeValue(path: string, column: string, value: string): Promise<void> {
  const duck = await Duck.open(parts.duck);
  try {
    const select = `SELECT * REPLACE ('${value}' AS ${column}) FROM ${parquet([path])}`;
    await duck.run(`CREATE TABLE changed AS ${select}; COPY changed TO '${path}' (FORMAT parquet)`);
  } finally {
    await duck.close();
  }
}

async function put({ to }: Segment, columns: Record<string, unknown>): Promise<void> {
  for (const [name, value] of Object.entries(columns))
    await log.db.pool.query(`UPDATE segment SET ${name} = $2 WHERE to_position = $1`, [to, value]);
}

describe('seals', () => {
  it('are one event for each segment, in a chain, and are not repeated', async () => {
    const all = await segments(log.db.pool);
    expect(all.length).toBeGreaterThan(3);
    const seals = await sealsInLog();
    expect(seals.map((seal) => (seal as { stream: string }).stream)).toEqual(all.map(({ from }) => `segment-${from}`));
    await sealAll();
    await log.db.pool.query('UPDATE segment SET sealed_position = NULL');
    await sealAll();
    expect(await sealsInLog()).toEqual(seals);
    expect((await segments(log.db.pool)).every(({ sealedPosition }) => sealedPosition !== null)).toBe(true);
  });

  it('have the same roots after the tables and the files were written anew', async () => {
    const [before, seals] = [await roots(), await sealsInLog()];
    await log.db.pool.query(`TRUNCATE ${TABLES}`);
    await rm(join(log.place.path, 'segments'), { recursive: true });
    await fill();
    expect(await roots()).toEqual(before);
    expect(await sealsInLog()).toEqual(seals);
    expect(errors).toEqual([]);
  });

  it('are not of files whose bytes rotted, though they are as long as before', async () => {
    const [first] = (await segments(log.db.pool)) as [Segment];
    const path = parts.files.path(setOf(first), FILES.effects);
    const before = await readFile(path);
    const { blocks } = (await log.db.pool.query<{ blocks: Buffer }>('SELECT blocks FROM segment ORDER BY to_position'))
      .rows[0] as { blocks: Buffer };
    await put(first, { root: null, blocks: null });
    const rotten = Buffer.from(before);
    rotten[Math.floor(rotten.length / 2)] = (rotten[Math.floor(rotten.length / 2)] as number) ^ 1;
    await writeFile(path, rotten);
    await expect(sealAll()).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining('SHA-256') });
    await writeFile(path, before);
    await put(first, { blocks, root: first.root });
  });

  it('keep files from being mended with rows that say something else', async () => {
    const [first] = (await segments(log.db.pool)) as [Segment];
    const where = `(known_from, effect) IN (SELECT known_from, effect FROM item_movement ORDER BY known_from LIMIT 1)`;
    const { rows } = await log.db.pool.query<{ status: string }>(`SELECT status FROM movement_effect WHERE ${where}`);
    const setStatus = (status: unknown) =>
      log.db.pool.query(`UPDATE movement_effect SET status = $1 WHERE ${where}`, [status]);
    await setStatus('other');
    await parts.files.remove(setOf(first));
    expect(await sweepSegments(parts, { deep: false, mend: true })).toMatchObject([{ mended: false }]);
    await setStatus(rows[0]?.status);
    expect(await sweepSegments(parts, { deep: true, mend: true })).toMatchObject([{ mended: true }]);
    expect(await sweepSegments(parts, { deep: true, mend: true })).toEqual([]);
  });

  it('tell of other rows: the segment has a second seal, which counts and is named', async () => {
    await log.db.pool.query(`UPDATE movement_effect SET status = 'other'
      WHERE (known_from, effect) IN (SELECT known_from, effect FROM item_movement ORDER BY known_from LIMIT 1)`);
    await log.db.pool.query('TRUNCATE segment');
    await rm(join(log.place.path, 'segments'), { recursive: true });
    while ((await writeNextSegment(parts)) !== 'none');
    await sealAll();
    expect(errors).toMatchObject([{ stream: 'segment-0' }]);
    await sign();
    expect(await verify(await proven(packOf(1)))).toMatchObject({ sealedAgain: [0n] });
  });
});
