import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { TestClient } from '../test/client.js';
import * as doc from '../test/documents.js';
import { pack } from '../test/documents.js';
import { startSandbox, type Sandbox } from './main.js';

/** Status of a GET by a client that trusts the certificates of `ca` alone. */
function trusting(url: string, ca: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { ca, agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    })
      .on('error', reject)
      .end();
  });
}

describe('a sandbox with TLS', () => {
  let folder: TemporaryFolder;
  beforeAll(async () => {
    folder = await temporaryFolder();
  });
  afterAll(() => folder.remove());

  const during = async <T>(dataDir: string | undefined, act: (sandbox: Sandbox) => Promise<T>): Promise<T> => {
    const sandbox = await startSandbox({ tls: true, ...(dataDir === undefined ? {} : { dataDir }) });
    try {
      return await act(sandbox);
    } finally {
      await sandbox.stop();
    }
  };
  const caOf = ({ ca = '' }: Sandbox): string => readFileSync(ca, 'utf8');
  const introduced = (sandbox: Sandbox, ca: string, host = '127.0.0.1'): Promise<number | undefined> =>
    trusting(`${sandbox.url.replace('127.0.0.1', host)}/.well-known/pedigree-sandbox`, ca);

  it('is trusted by its own authority alone, which outlives a restart on its folder', async () => {
    const dataDir = join(folder.path, 'data');
    const first = await during(dataDir, async (sandbox) => {
      expect(sandbox.url).toMatch(/^https:/);
      expect(sandbox.controlUrl).toMatch(/^http:/);
      expect(await introduced(sandbox, caOf(sandbox))).toBe(200);
      expect(await introduced(sandbox, caOf(sandbox), 'localhost')).toBe(200);
      return caOf(sandbox);
    });
    await during(dataDir, async (sandbox) => expect(await introduced(sandbox, first)).toBe(200));
    await during(undefined, async (sandbox) => {
      await expect(introduced(sandbox, first)).rejects.toThrow(/certificate|signature/);
      expect(await introduced(sandbox, caOf(sandbox))).toBe(200);
    });
  });
});

describe('a returned link', () => {
  it.each([
    [undefined, 'http'],
    ['https', 'https'],
    ['HTTPS, http', 'https'],
    ['gopher', 'http'],
  ])('keeps the scheme that a proxy in front names: %s', async (forwarded, scheme) => {
    const client = await TestClient.start();
    try {
      const { json } = await client.send(doc.accept([pack(1)]));
      const headers = {
        ...(await client.headers()),
        ...(forwarded === undefined ? {} : { 'x-forwarded-proto': forwarded }),
      };
      const answer = await client.http(`${client.sandbox.url}/api/v1/documents/download/${json.document_id}`, {
        headers,
      });
      expect(answer.json.link).toMatch(new RegExp(`^${scheme}://127`));
    } finally {
      await client.stop();
    }
  });
});

describe('the limits of a send and of an upload', () => {
  it('count the whole body of a send: 1,048,576 bytes, or as it was set', async () => {
    for (const [options, limit] of [
      [{}, 1_048_576],
      [{ sendBytes: 2_162_688 }, 2_162_688],
    ] as const) {
      const client = await TestClient.start(options);
      try {
        expect((await client.get('/documents/doc_size')).json).toEqual({ doc_size: limit });
        const around = JSON.stringify({ document: '', request_id: randomUUID() }).length;
        const status = async (bytes: number) =>
          (
            await client.post(
              '/documents/send',
              { document: 'A'.repeat(bytes - around), request_id: randomUUID() },
              await client.headers(),
            )
          ).status;
        // The body fits: what it lacks is the signature.
        expect(await status(limit)).toBe(400);
        expect(await status(limit + 1)).toBe(413);
      } finally {
        await client.stop();
      }
    }
  });

  it.each([
    ['paced', [201, 429]],
    ['back-to-back', [201, 201]],
  ] as const)('let the parts of an upload go %s', async (uploadParts, statuses) => {
    const client = await TestClient.start({ uploadParts, profile: 'mdlp' });
    try {
      const xml = Buffer.from(doc.accept([pack(1)]));
      const { json } = await client.post(
        '/documents/send_large',
        { sign: Buffer.from('x').toString('base64'), hash_sum: 'a'.repeat(64), request_id: randomUUID() },
        await client.headers(),
      );
      await client.control('POST', '/limits', { on: true });
      const put = async (from: number, to: number) =>
        (
          await client.http(json.link, {
            method: 'PUT',
            body: new Uint8Array(xml.subarray(from, to)),
            headers: { ...(await client.headers()), 'content-range': `bytes ${from}-${to - 1}/${xml.length}` },
          })
        ).status;
      expect([await put(0, 10), await put(10, 20)]).toEqual(statuses);
    } finally {
      await client.stop();
    }
  });
});

describe('what a developer is told', () => {
  let client: TestClient;
  beforeAll(async () => {
    client = await TestClient.start({ profile: 'mdlp', processingMs: 4_000 });
  });
  afterAll(() => client.stop());
  const told = async (path: string, body: unknown): Promise<string> => {
    const { status, json } = await client.control('POST', path, body);
    expect(status).toBe(400);
    return json.error_description;
  };

  it('which names there are, where one is unknown', async () => {
    expect(await told('/faults', { fault: 'delay_ms', method: 'sent' })).toMatch(/"sent"; known are \*, .*\bsend, /);
    expect(await told('/faults', { fault: 'slow' })).toContain('delay_ms');
    expect(await told('/misbehaviour', { knobs: { slow: 1 } })).toContain('delay_ms');
    expect(await told('/accounts/block', { name: 'nobody' })).toContain('known are main, north, south, retail');
    const participants = 'own, supplier-a, supplier-b, customer-a, customer-b';
    const account = { name: 'a', clientId: 'c', clientSecret: 's', userId: 'u', password: 'p' };
    expect(await told('/accounts', { ...account, participant: 'nobody' })).toContain(participants);
    expect(await told('/counterparties/ship', { from: 'nobody', to: doc.PLACES.shop })).toContain(participants);
    expect(await told('/counterparties/ship', { from: 'supplier-a', to: '1' })).toContain(doc.PLACES.shop);
    expect(await told('/incoming', { from: 'x', to: 'own', xml: '<a/>' })).toContain(participants);
    const planted = { sgtin: pack(1), owner: 'nobody', place: doc.PLACES.shop };
    expect(await told('/plant', { packs: [planted] })).toContain(participants);
    expect(await told('/plant', { packs: [{ ...planted, owner: 'own', place: '1' }] })).toContain(doc.PLACES.shop);
    await expect(startSandbox({ profile: 'mdpl' })).rejects.toThrow(
      'there is no profile "mdpl"; known are interface-v1, mdlp',
    );
  });

  it('that a fault may be ordered for each method of the profile', async () => {
    for (const method of ['send', 'mark_read', 'users_find', '*'])
      expect((await client.control('POST', '/faults', { fault: 'delay_ms', method })).status).toBe(200);
    await client.control('DELETE', '/faults');
  });

  it('when what was planted or shipped will show', async () => {
    const { json: planted } = await client.control('POST', '/plant', {
      packs: [{ sgtin: pack(1), owner: 'own', place: doc.PLACES.shop }],
    });
    expect(planted).toEqual({ packs: 1, shows: expect.stringMatching(/^now, /) });
    const { json } = await client.control('POST', '/counterparties/ship', { from: 'supplier-a', to: doc.PLACES.shop });
    expect(json.shows).toMatchObject({ where: 'the registers, and documents/income of the other side as a 601' });
    const incoming = async () =>
      (await client.post('/documents/income', { filter: {} }, await client.headers())).json.total;
    await client.advance(json.shows.in_ms - 5_000);
    expect(await incoming()).toBe(0);
    await client.advance(5_000);
    expect(await incoming()).toBe(1);
  });
});
