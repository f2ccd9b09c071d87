import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, type PedigreeError } from '#kernel';
import { selfSigned } from '../../../../test/support/self-signed.js';
import { readAccounts } from '../accounts.js';
import type { Account, HttpSignerConfig } from '../port.js';
import { openHttpSigner } from './http-signer.js';
import type { OutsideSigner } from './outside-signer.js';
import { Pkcs12Signer } from './pkcs12-signer.js';
import { verifyDetachedCms } from './verify-cms.js';

const XML = Buffer.from(
  '<documents version="1.38"><move_order action_id="431">Привет</move_order></documents>',
  'utf8',
);
const SECRET = 'p@ss/4711';
const accounts = readAccounts(fileURLToPath(new URL('../../../../apps/sandbox/data/accounts.json', import.meta.url)));
const openKey = (name: string): Pkcs12Signer =>
  Pkcs12Signer.open(accounts.find((account) => account.name === name) as Account);
const keys: Record<string, Pkcs12Signer> = { main: openKey('main'), north: openKey('north') };
const keyOf = (name: string): Pkcs12Signer => keys[name] as Pkcs12Signer;

interface Seen {
  headers: IncomingMessage['headers'];
  body: Buffer;
}
type Answer = { status?: number; body: string | Buffer } | 'reset' | 'hang' | 'half';

/** A signing service with real keys, which answers as it is told. */
class SigningService {
  readonly seen: Seen[] = [];
  /** Answers in order; the last one stays. */
  script: ((bytes: Buffer) => Answer | Promise<Answer>)[] = [];
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    this.seen.push({ headers: request.headers, body });
    const play = (this.script.length > 1 ? this.script.shift() : this.script[0]) as (
      bytes: Buffer,
    ) => Answer | Promise<Answer>;
    const answer = await play(body);
    if (answer === 'hang') return;
    if (answer === 'reset') return void request.socket.resetAndDestroy();
    if (answer === 'half') return void response.writeHead(200, { 'content-length': '5000' }).write('MII');
    response.writeHead(answer.status ?? 200).end(answer.body);
  }
}

let service: SigningService;
let server: Server;
let folder: string;
let opened: OutsideSigner[];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pedigree-http-signer-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(async () => {
  service = new SigningService();
  opened = [];
  server = createServer((request, response) => void service.serve(request, response));
  await listen(server);
});
afterEach(async () => {
  await Promise.all(opened.map((signer) => signer.close()));
  await stop(server);
});

const listen = (which: Server): Promise<void> => new Promise((resolve) => void which.listen(0, '127.0.0.1', resolve));
async function stop(which: Server): Promise<void> {
  which.closeAllConnections();
  await new Promise((resolve) => which.close(resolve));
}
const portOf = (which: Server): number => (which.address() as AddressInfo).port;

function signer(over: Partial<HttpSignerConfig> = {}): OutsideSigner {
  const config: HttpSignerConfig = {
    kind: 'http',
    url: `http://127.0.0.1:${portOf(server)}/sign?detached=1`,
    headers: {},
    timeLimitMs: 10_000,
    concurrency: 2,
    retries: 2,
    ...over,
  };
  const open = openHttpSigner('main', config, systemClock);
  opened.push(open);
  return open;
}
const signedBy =
  (name: string) =>
  async (bytes: Buffer): Promise<Answer> => ({ body: await keyOf(name).sign(bytes) });
const failure = async (signing: Promise<unknown>): Promise<PedigreeError> =>
  signing.then(
    () => {
      throw new Error('it signed');
    },
    (error: PedigreeError) => error,
  );

describe('a service that signs', () => {
  it('gets the bytes and answers DER', async () => {
    service.script = [signedBy('main')];
    const by = signer({ headers: { authorization: 'Bearer {secret}' }, secret: SECRET });
    expect([by.certificate(), by.expiresAt()]).toEqual([undefined, undefined]);
    const signature = await by.sign(XML);
    expect(verifyDetachedCms(XML, signature).certificate.equals(keyOf('main').certificate())).toBe(true);
    expect(service.seen).toMatchObject([
      { headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/octet-stream' }, body: XML },
    ]);
    expect([by.certificate(signature)?.equals(keyOf('main').certificate()), by.expiresAt()]).toEqual([
      true,
      keyOf('main').expiresAt(),
    ]);
  });

  it('gets JSON by a template and answers base64 in a field', async () => {
    service.script = [
      async (body) => {
        const { data } = JSON.parse(body.toString()) as { data: { content: string } };
        return {
          // Some servers begin JSON with a byte order mark.
          body: `\uFEFF${JSON.stringify({
            result: { cms: (await keyOf('main').sign(Buffer.from(data.content, 'base64'))).toString('base64') },
          })}`,
        };
      },
    ];
    const by = signer({
      body: { pin: '{secret}', data: { content: '{base64}' }, detached: true, types: ['cades-bes', 1, null] },
      secret: SECRET,
      answerField: 'result.cms',
    });
    verifyDetachedCms(XML, await by.sign(XML));
    expect(service.seen[0]?.headers['content-type']).toBe('application/json');
    expect(JSON.parse(String(service.seen[0]?.body))).toEqual({
      pin: SECRET,
      data: { content: XML.toString('base64') },
      detached: true,
      types: ['cades-bes', 1, null],
    });
  });

  it('may change its certificate: each signature keeps its own', async () => {
    service.script = [signedBy('main'), signedBy('north')];
    const by = signer();
    const [first, second] = [await by.sign(XML), await by.sign(XML)];
    expect(by.certificate(first)?.equals(keyOf('main').certificate())).toBe(true);
    expect(by.certificate(second)?.equals(keyOf('north').certificate())).toBe(true);
    expect(by.certificate()).toBe(by.certificate(second));
  });

  it('is asked again after a broken connection, a 429 and a 5xx', async () => {
    service.script = [() => 'reset', () => ({ status: 503, body: 'busy' }), signedBy('main')];
    verifyDetachedCms(XML, await signer().sign(XML));
    service.script = [() => ({ status: 429, body: 'slow down' }), signedBy('main')];
    verifyDetachedCms(XML, await signer().sign(XML));
    expect(service.seen).toHaveLength(5);
  });

  it('is trusted over TLS by the authority of the configuration alone', async () => {
    const { certificate, key } = selfSigned();
    const tls = createTlsServer(
      { key, cert: certificate },
      (request, response): void => void service.serve(request, response),
    );
    await listen(tls);
    try {
      service.script = [signedBy('main')];
      const url = `https://127.0.0.1:${portOf(tls)}/sign`;
      expect((await failure(signer({ url, retries: 0 }).sign(XML))).message).toMatch(/self-signed|SELF_SIGNED/);
      writeFileSync(join(folder, 'ca.pem'), certificate);
      verifyDetachedCms(XML, await signer({ url, caFile: join(folder, 'ca.pem') }).sign(XML));
      expect(() => signer({ url, caFile: join(folder, 'nowhere.pem') })).toThrow(/"main": .*nowhere\.pem: ENOENT/);
    } finally {
      await stop(tls);
    }
  });
});

describe('a service that does not sign', () => {
  it.each([
    [
      'refuses',
      { status: 403, body: `{"error":"no key for ${SECRET}"}` },
      1,
      /answered 403: \{"error":"no key for \[removed\]"\}$/,
    ],
    ['fails', { status: 500, body: '<html>oops</html>' }, 3, /answered 500: <html>oops<\/html>$/],
    ['breaks the connection', 'reset', 3, /the signing service: .*(ECONNRESET|closed)/],
    ['answers garbage', { body: 'signed!' }, 1, /neither DER nor PEM nor base64/],
    ['answers nothing', { body: '' }, 1, /it is empty/],
    ['answers too much', { body: Buffer.alloc(1_100_000) }, 3, /more than 1048576 bytes/],
    ['redirects', { status: 302, body: '' }, 1, /answered 302/],
  ] satisfies [string, Answer, number, RegExp][])('because it %s', async (_name, answer, calls, words) => {
    service.script = [() => answer];
    const error = await failure(signer({ secret: SECRET }).sign(XML));
    expect([error.code, error.message]).toEqual(['signing_failed', expect.stringMatching(words)]);
    expect(error.message).toMatch(/^signer of account "main": /);
    expect(error.message).not.toContain(SECRET);
    expect(service.seen).toHaveLength(calls);
  });

  it('because it signs something else', async () => {
    service.script = [() => signedBy('main')(Buffer.from('other'))];
    expect((await failure(signer().sign(XML))).message).toContain('over other content');
  });

  it.each([
    ['is not JSON', 'MIIB', 'not JSON'],
    ['lacks the field', '{"result":{}}', 'without the text result.cms'],
    ['has no text there', '{"result":{"cms":{"a":1}}}', 'without the text result.cms'],
    ['names what every object has', '{"result":"x"}', 'without the text result.cms'],
  ])('because its answer %s', async (_name, body, words) => {
    service.script = [() => ({ body })];
    expect((await failure(signer({ answerField: 'result.cms' }).sign(XML))).message).toContain(words);
  });

  it('because nobody is there', async () => {
    const by = signer();
    await stop(server);
    expect((await failure(by.sign(XML))).message).toMatch(/the signing service: .*ECONNREFUSED/);
    await listen(server);
  });

  it.each([['hang'], ['half']] as const)(
    'because it is slow (%s): repeats and all, it has its time limit',
    async (slow) => {
      service.script = [() => slow];
      const beganMs = systemClock.monotonicMs();
      expect((await failure(signer({ timeLimitMs: 1_000, retries: 50 }).sign(XML))).message).toContain(
        'no answer within 1000 ms',
      );
      expect(systemClock.monotonicMs() - beganMs).toBeLessThan(20_000);
      expect(service.seen).toHaveLength(1);
    },
  );

  it('because it has another key than the configured certificate', async () => {
    service.script = [signedBy('north')];
    const certificateFile = fileURLToPath(
      new URL('../../../../apps/sandbox/data/accounts/main.crt.pem', import.meta.url),
    );
    expect((await failure(signer({ certificateFile }).sign(XML))).message).toContain(
      'another certificate than the configured one',
    );
  });
});
