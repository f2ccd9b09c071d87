import { Pool as HttpPool } from 'undici';
import type { World } from '../../apps/cli/src/sample/world.js';
import type { EventStore } from '#event-store';
import { Pkcs12Signer, readAccounts } from '#registry-client';
import { arrival } from './load.js';

const CONNECTIONS = 16;
const PREPARED_PER_SECOND = 1_500;

/**
 * Sends per second that the same sandbox takes from plain undici: documents signed and encoded beforehand, nothing
 * recorded.
 */
export async function rawSendsPerSecond(options: {
  registryUrl: string;
  accountsFile: string;
  world: World;
  seconds: number;
}): Promise<number> {
  const [account] = readAccounts(options.accountsFile);
  if (account === undefined) throw new Error('no account');
  const signer = Pkcs12Signer.open(account);
  const http = new HttpPool(options.registryUrl, { connections: CONNECTIONS });
  const post = posting(http);
  try {
    const { clientId, clientSecret, userId } = account;
    const { code = '' } = await post(
      '/auth',
      JSON.stringify({ client_id: clientId, client_secret: clientSecret, user_id: userId, auth_type: 'SIGNED_CODE' }),
    );
    const { token = '' } = await post(
      '/token',
      JSON.stringify({ code, signature: (await signer.sign(Buffer.from(code))).toString('base64') }),
    );
    const bodies = await signedBodies(options.world, signer, options.seconds * PREPARED_PER_SECOND);
    return await ratePerSecond(options.seconds, CONNECTIONS, async () => {
      const body = bodies.pop();
      if (body === undefined) return 0;
      await post('/documents/send', body, token);
      return 1;
    });
  } finally {
    await http.close();
  }
}

const posting =
  (http: HttpPool) =>
  async (path: string, body: string, token = ''): Promise<Record<string, string>> => {
    const headers = {
      'content-type': 'application/json',
      ...(token === '' ? {} : { authorization: `token ${token}` }),
    };
    const answer = await http.request({ method: 'POST', path: `/api/v1${path}`, headers, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}: ${text.slice(0, 200)}`);
    return JSON.parse(text) as Record<string, string>;
  };

async function signedBodies(world: World, signer: Pkcs12Signer, count: number): Promise<string[]> {
  const bodies: string[] = [];
  for (let number = 0; number < count; number += 1) {
    const xml = Buffer.from(arrival(world, number, 'CEIL0').xml);
    bodies.push(
      JSON.stringify({
        document: xml.toString('base64'),
        sign: (await signer.sign(xml)).toString('base64'),
        request_id: crypto.randomUUID(),
        bulk_processing: false,
      }),
    );
  }
  return bodies;
}

/** Appends of one event per second that the log takes, durable, from 50 writers at once. */
export async function rawAppendsPerSecond(store: EventStore, seconds: number): Promise<number> {
  const metadata = {
    participant: 'bench',
    actor: { kind: 'system', name: 'bench', authenticatedBy: 'process' },
    softwareVersion: '0',
    profile: 'bench',
    effectiveAt: '2026-01-15T09:00:00.000Z',
    correlationId: 'bench',
    causationId: 'bench',
  } as const;
  let n = 0;
  return ratePerSecond(seconds, 50, async () => {
    n += 1;
    const event = {
      id: crypto.randomUUID(),
      type: 'BenchAppended',
      schemaVersion: 1,
      data: { n, filler: 'x'.repeat(200) },
      metadata,
    };
    await store.append(`bench-${crypto.randomUUID()}`, 'none', [event]);
    return 1;
  });
}

/** How much was done in a second, by so many at once, until the time is over or the work is. */
export async function ratePerSecond(seconds: number, hands: number, work: () => Promise<number>): Promise<number> {
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1_000;
  let done = 0;
  const hand = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const more = await work();
      if (more === 0) return;
      done += more;
    }
  };
  await Promise.all(Array.from({ length: hands }, hand));
  return done / ((performance.now() - startedMs) / 1_000);
}
