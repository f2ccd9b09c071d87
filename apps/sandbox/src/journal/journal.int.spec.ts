import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack, packs } from '../../test/documents.js';
import { startSandbox } from '../main.js';

const BOX = '046000000000000017';

describe('a sandbox with a data folder', () => {
  let folder: string;
  let client: TestClient;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sandbox-spec-'));
    client = await start();
  });
  afterEach(async () => {
    await client.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = () => TestClient.start({ dataDir: folder });
  const journal = () => join(folder, 'journal.ndjson');

  async function restart(): Promise<void> {
    await client.stop();
    client = await start();
  }

  async function aDay(): Promise<string[]> {
    const sent = [
      await client.send(doc.accept(packs(1, 5))),
      await client.send(doc.accept([pack(9, 900)])),
      await client.send('garbage'),
    ].map(({ json }) => json.document_id as string);
    await client.advance();
    await client.control('POST', '/plant', {
      ranges: [
        { gtin: doc.GTIN, prefix: 'PLANTED', from: 1, count: 3, owner: 'own', place: doc.PLACES.warehouse, sscc: BOX },
      ],
    });
    sent.push((await client.send(doc.moveOrder([pack(1), BOX, pack(99)]))).json.document_id);
    sent.push((await client.send(doc.retailSale([{ id: pack(2) }]))).json.document_id);
    await client.advance();
    return sent;
  }

  async function truth(): Promise<unknown> {
    const read = async (path: string) => (await client.control('GET', path)).json;
    const items = await Promise.all(
      [pack(1), pack(2), pack(3), `${doc.GTIN}PLANTED000001`].map((id) => read(`/truth/packs/${id}`)),
    );
    const { documents, packs: counts, tokens } = await read('/truth/summary');
    return {
      documents: await read('/truth/documents'),
      counts,
      tokens,
      summary: documents,
      items,
      box: await read(`/truth/sscc/${BOX}`),
    };
  }

  it('is the same after a restart: documents, packs, tokens, receipts', async () => {
    const sent = await aDay();
    const before = { truth: await truth(), outcomes: await Promise.all(sent.map((id) => client.outcome(id))) };
    expect(before.truth).toMatchObject({
      summary: { byResult: { Accepted: 2, Partial: 1, Rejected: 1, critical: 1 } },
    });
    const headers = await client.headers();
    await restart();
    expect(await truth()).toEqual(before.truth);
    for (const outcome of before.outcomes) {
      const url = `${client.sandbox.url}/api/v1/documents/${outcome.documentId}`;
      expect((await client.http(url, { headers })).json).toEqual(outcome.metadata);
      if (outcome.receipt === undefined) continue;
      const { json } = await client.http(`${url}/ticket`, { headers });
      expect((await client.http(json.link, { headers })).text).toBe(outcome.receipt);
    }
    await restart();
    expect(await truth()).toEqual(before.truth);
  });

  it('remembers request_ids, bytes and repeats', async () => {
    const requestId = randomUUID();
    const xml = doc.accept([pack(1)]);
    await client.send(xml, { requestId });
    await client.send(xml, { requestId });
    await restart();
    expect((await client.send(xml, { requestId })).status).toBe(400);
    const { json } = await client.send(xml);
    await client.advance();
    expect((await client.outcome(json.document_id)).metadata).toMatchObject({ status: 'FAILED' });
    expect((await client.control('GET', `/truth/documents?request_id=${requestId}`)).json.documents).toMatchObject([
      { sends: 3, status: 'processed' },
    ]);
  });

  it('processes after a restart what was not processed before, and its clock never goes back', async () => {
    const { json } = await client.send(doc.accept([pack(1)]));
    await client.control('POST', '/clock', { speed: 0.001 });
    const before = (await client.control('GET', '/clock')).json.virtualMs;
    await restart();
    expect((await client.control('GET', '/clock')).json.virtualMs).toBeGreaterThanOrEqual(before);
    await client.advance();
    expect((await client.outcome(json.document_id)).metadata).toMatchObject({ status: 'PROCESSED' });
  });

  it('drops a line that a kill tore, and goes on behind the last whole one', async () => {
    await aDay();
    const before = await truth();
    await client.stop();
    const whole = statSync(journal()).size;
    appendFileSync(journal(), '{"k":"document","id":"torn');
    client = await start();
    expect(await truth()).toEqual(before);
    expect(readFileSync(journal(), 'utf8').slice(0, whole)).not.toContain('torn');
    expect(readFileSync(journal(), 'utf8')).not.toContain('torn');
    await client.send(doc.accept([pack(60)]));
    await restart();
    expect((await client.control('GET', '/truth/documents')).json.total).toBe(6);
  });

  it('refuses a damaged journal by the line, and says so', async () => {
    await client.stop();
    const text = readFileSync(journal(), 'utf8');
    writeFileSync(journal(), `oops\n${text}`);
    await expect(startSandbox({ dataDir: folder })).rejects.toThrow(/journal\.ndjson: line 1 is damaged/);
    writeFileSync(journal(), text);
    client = await start();
  });

  it('holds no token in clear and is for its owner only', async () => {
    const token = await client.token();
    expect(readFileSync(journal(), 'utf8')).not.toContain(token);
    expect(statSync(journal()).mode & 0o077).toBe(0);
  });

  it('ends a token that lay idle for more than 30 minutes, be it over a restart', async () => {
    const MINUTE_MS = 60_000;
    const headers = await client.headers();
    const use = async () => (await client.http(`${client.sandbox.url}/api/v1/documents/outcome`, { headers })).status;
    const downFor = async (minutes: number) => {
      await client.stop();
      const lines = readFileSync(journal(), 'utf8').trimEnd().split('\n');
      const at = lines.findLastIndex((line) => line.startsWith('{"k":"clock"'));
      const clock = JSON.parse(lines[at] as string) as { w: number };
      lines[at] = JSON.stringify({ ...clock, w: clock.w - minutes * MINUTE_MS });
      writeFileSync(journal(), `${lines.join('\n')}\n`);
      client = await start();
    };
    await client.advance(20 * MINUTE_MS);
    expect(await use()).toBe(200);
    await downFor(20);
    expect(await use()).toBe(200);
    await downFor(31);
    expect(await use()).toBe(401);
  });

  it('is alone on its folder; the lock of a process that is gone is broken', async () => {
    await expect(startSandbox({ dataDir: folder })).rejects.toThrow(/another sandbox/);
    await client.stop();
    writeFileSync(join(folder, 'lock'), `${process.pid} 1`);
    client = await start();
    expect((await client.control('GET', '/health')).status).toBe(200);
  });
});
