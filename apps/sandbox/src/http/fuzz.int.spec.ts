import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { Dice, exchange, fuzzRequest, whyUndocumented, type Material } from '../../test/fuzz.js';
import { signAs } from '../../test/signer.js';

/** FUZZ_REQUESTS=100000 for the long run, FUZZ_SEED to repeat one. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 3000);
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const AT_ONCE = 16;
const LONGEST_MS = 30 * 60_000;

const XMLS = [
  doc.accept([doc.pack(1)]),
  doc.moveOrder([doc.pack(1)]),
  doc.unitPack('046000000000000017', [doc.pack(1)]),
  '<documents',
  '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
  '\ufeff<a/>',
  `${'<a>'.repeat(3000)}`,
  '\u0000',
];

function routesOfProfile(): Material['routes'] {
  const { operations, basePath } = JSON.parse(
    readFileSync(new URL('../../../../libs/registry-client/profiles/interface-v1.json', import.meta.url), 'utf8'),
  ) as { operations: Record<string, { method: string; path: string }>; basePath: string };
  return Object.values(operations).map(({ method, path }) => ({
    verb: method,
    path: path === '{link}' ? '/webdav/upload/{document_id}/{document_id}' : `${basePath}${path}`,
  }));
}

describe(`${REQUESTS} requests of any kind (FUZZ_SEED=${SEED})`, () => {
  let client: TestClient;
  const complaints: string[] = [];
  const stderr = jest.spyOn(process.stderr, 'write');

  beforeAll(async () => {
    client = await TestClient.start({ processingMs: 5 });
    stderr.mockImplementation((chunk) => {
      complaints.push(String(chunk));
      return true;
    });
  });
  afterAll(async () => {
    stderr.mockRestore();
    await client.stop();
  });

  async function material(): Promise<Material> {
    const bodies: string[] = [];
    const ids: string[] = ['x', doc.pack(1), '046000000000000017', randomUUID()];
    for (const xml of XMLS) {
      const requestId = randomUUID();
      bodies.push(
        JSON.stringify({
          document: Buffer.from(xml).toString('base64'),
          sign: signAs('main', Buffer.from(xml)),
          request_id: requestId,
          bulk_processing: false,
        }),
      );
      const sent = await client.send(`${xml} `, { requestId: randomUUID() });
      ids.push(sent.json.document_id);
    }
    const filter = { start_date: '2026-11-21 10:00:00', doc_status: 'PROCESSED' };
    bodies.push(
      JSON.stringify({ filter, start_from: 0, count: 10 }),
      JSON.stringify({ request_ids: [randomUUID()] }),
      JSON.stringify(client.credentials()),
      JSON.stringify({ filter: { sgtins: [doc.pack(1)] } }),
      doc.accept([doc.pack(2)]),
    );
    const tokens = [await client.token(), await client.token('north'), randomUUID()];
    return { routes: routesOfProfile(), ids, bodies, tokens };
  }

  /** A request that signs out ends a token; from time to time they are replaced, else all the rest would meet a 401. */
  async function revive(known: Material): Promise<void> {
    for (const [at, account] of (['main', 'north'] as const).entries()) {
      const alive = await client.http(`${client.sandbox.url}/api/v1/documents/doc_size`, {
        headers: { authorization: `token ${known.tokens[at]}` },
      });
      if (alive.status === 401) known.tokens[at] = (await client.newToken(account)).json.token;
    }
  }

  it(
    'crash nothing, and each gets an answer of a documented shape or a closed connection',
    async () => {
      const known = await material();
      const port = Number(new URL(client.sandbox.url).port);
      const statuses = new Map<string, number>();
      const wrong: string[] = [];
      let next = 0;
      const hand = async (): Promise<void> => {
        for (let index = next; index < REQUESTS && wrong.length < 10; index = next) {
          next += 1;
          if (index % 200 === 0) await revive(known);
          const request = fuzzRequest(new Dice(SEED ^ Math.imul(index + 1, 0x9e3779b1)), known);
          const answer = await exchange(port, request);
          const status = typeof answer === 'string' ? answer : String(answer.status);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          const why =
            request.cut && answer === 'silent'
              ? undefined
              : whyUndocumented(answer, request.bytes.toString('latin1', 0, 4).trim());
          if (why !== undefined) wrong.push(`request ${index}: ${why}\n${request.bytes.toString('latin1', 0, 400)}`);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, hand));
      expect(wrong).toEqual([]);
      expect(complaints).toEqual([]);
      // The run is worth something only when many requests got past the front door.
      for (const status of ['200', '400', '401', '404'])
        expect(statuses.get(status) ?? 0).toBeGreaterThan(REQUESTS / 200);
      expect((await client.process(doc.accept([doc.pack(77)]), 'south')).result).toBe('Accepted');
    },
    LONGEST_MS,
  );
});
