import { z } from 'zod';
import type { World } from '../packs/world.js';
import { hasGostEngine } from './gost.js';
import { identityOf, namesOf, passwordDigest } from './identity.js';
import { RIGHT_NAMES } from './rights.js';

const MAX_ACCOUNTS = 1_000;
const text = z.string().min(1).max(10_000);

const newAccountShape = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
  /** Key of a participant of the world. */
  participant: text,
  clientId: text,
  clientSecret: text,
  /** By default the certificate's SHA-1; with a password the login or a GUID, which has no default. */
  userId: text.optional(),
  certificatePem: text.optional(),
  password: text.optional(),
  /** Some of accounts/rights.ts; every one when absent. */
  rights: z.array(z.enum(RIGHT_NAMES)).optional(),
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
  if (!world.participants.has(record.participant))
    throw new Error(
      `there is no participant "${record.participant}"; known are ${[...world.participants.keys()].join(', ')}`,
    );
  if (world.accountsByName.has(record.name)) throw new Error(`there is a user "${record.name}" already`);
  if (world.accountsByName.size >= MAX_ACCOUNTS)
    throw new Error(`the sandbox knows ${MAX_ACCOUNTS} users and takes no more`);
  const identity = identityIn(record);
  const { certificate } = identity;
  const taken = namesOf(identity).find((name) => world.accountsByUser.has(name));
  if (taken !== undefined) throw new Error(`there is a user with the userId ${taken} already`);
  if (certificate?.publicKey === null && !hasGostEngine())
    throw new Error('a GOST certificate needs an OpenSSL with the GOST engine (Debian: libengine-gost-openssl)');
  return record as NewAccountRecord;
}

/** What the control port says of a new user. */
export interface AdmittedUser {
  name: string;
  userId: string;
  /** Of one who signs in by password: that, or the userId, is the `user_id` of his sign-in. */
  login?: string;
}

/** Makes him known. */
export function admit(world: World, record: NewAccountRecord): AdmittedUser {
  const participant = world.participants.get(record.participant);
  if (participant === undefined) throw new Error(`there is no participant "${record.participant}"`);
  const { name, clientId, clientSecret, rights } = record;
  const account = { name, clientId, clientSecret, participant, rights, ...identityIn(record) };
  world.accountsByName.set(name, account);
  for (const one of namesOf(account)) world.accountsByUser.set(one, account);
  return { name, userId: account.userId, ...(account.login === undefined ? {} : { login: account.login }) };
}

const identityIn = (record: NewAccountRecord) =>
  identityOf({
    userId: record.userId,
    certificate: record.certificatePem === undefined ? undefined : Buffer.from(record.certificatePem),
    passwordSha256: record.passwordSha256,
  });
