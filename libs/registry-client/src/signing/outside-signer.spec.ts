import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { readAccounts } from '../accounts.js';
import type { Account } from '../port.js';
import { OutsideSigner } from './outside-signer.js';
import { Pkcs12Signer } from './pkcs12-signer.js';

const ACCOUNTS = fileURLToPath(new URL('../../../../apps/sandbox/data/accounts.json', import.meta.url));
const key = Pkcs12Signer.open(readAccounts(ACCOUNTS).find(({ name }) => name === 'main') as Account);
const XML = Buffer.from('<documents/>');

it('a signer that signs nothing says since when and why, until it signs, or is not asked for five minutes', async () => {
  const clock = new VirtualClock(new Date('2026-03-01T00:00:00Z'));
  let produce = (_: Uint8Array): Promise<Uint8Array> => Promise.reject(new Error('engine "gost" of s3cret is missing'));
  const limits = { secret: 's3cret', timeLimitMs: 1_000, concurrency: 1 };
  const config = { kind: 'command' as const, command: ['openssl'], folder: '.', environment: {}, ...limits };
  const signer = new OutsideSigner({ account: 'main', config, produce: (bytes) => produce(bytes), clock });
  const failing = async () => {
    await signer.sign(XML).catch(() => undefined);
    return signer.failing();
  };
  expect(signer.failing()).toBeUndefined();
  const told = { since: new Date('2026-03-01T00:00:00Z'), reason: 'engine "gost" of [removed] is missing' };
  expect(await failing()).toEqual(told);
  clock.advance(4 * 60_000);
  expect(await failing()).toEqual(told);
  clock.advance(6 * 60_000);
  expect(signer.failing()).toBeUndefined();
  expect((await failing())?.since).toEqual(new Date('2026-03-01T00:10:00Z'));
  produce = (bytes) => key.sign(bytes);
  expect(await failing()).toBeUndefined();
});
