import { z } from 'zod';
import type { World } from '../packs/world.js';
import { hasGostEngine } from './gost.js';
import { identityOf, passwordDigest } from './identity.js';

const MAX_ACCOUNTS = 1_000;
const text = z.string().min(1).max(10_000);

const newAccountShape = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
  /** Key of a participant of the world. */
  participant: text,
  clientId: text,
  clientSecret: text,
  /** By default the certificate's SHA-1; with a password the login, which has no default. */
  userId: text.optional(),
  certificatePem: text.optional(),
  password: text.optional(),
});

/** A user who came later, as the journal keeps him: without the password itself. */
export type NewAccountRecord = Omit<z.infer<typeof newAccountShape>, 'password'> & { passwordSha256?: string };

/**
 * Checks an order of the control port to make a user known. Throws an Error that says what is wrong; then nothing has
 * changed.
 */
export function newAccountOf(world: World, body: unknown): NewAccountRecord {
  const parsed = newAccountShape.safeParse(body);
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error));
  const { password, ...rest } = parsed.data;
  const record = { ...rest, ...(password === undefined ? {} : { passwordSha256: passwordDigest(password) }) };
  if (!world.participants.has(record.participant)) throw new Error(`there is no participant "${record.participant}"`);
  if (world.accountsByName.has(record.name)) throw new Error(`there is a user "${record.name}" already`);
  if (world.accountsByName.size >= MAX_ACCOUNTS)
    throw new Error(`the sandbox knows ${MAX_ACCOUNTS} users and takes no more`);
  const { userId, certificate } = identityIn(record);
  if (world.accountsByUser.has(userId)) throw new Error(`there is a user with the userId ${userId} already`);
  if (certificate?.publicKey === null && !hasGostEngine())
    throw new Error('a GOST certificate needs an OpenSSL with the GOST engine (Debian: libengine-gost-openssl)');
  return record as NewAccountRecord;
}

/** Makes him known. */
export function admit(world: World, record: NewAccountRecord): { name: string; userId: string } {
  const participant = world.participants.get(record.participant);
  if (participant === undefined) throw new Error(`there is no participant "${record.participant}"`);
  const { name, clientId, clientSecret } = record;
  const account = { name, clientId, clientSecret, participant, ...identityIn(record) };
  world.accountsByName.set(name, account);
  world.accountsByUser.set(account.userId, account);
  return { name, userId: account.userId };
}

const identityIn = (record: NewAccountRecord) =>
  identityOf({
    userId: record.userId,
    certificate: record.certificatePem === undefined ? undefined : Buffer.from(record.certificatePem),
    passwordSha256: record.passwordSha256,
  });
