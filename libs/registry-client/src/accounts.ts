import { dirname, resolve } from 'node:path';
import { defined, firstFault, PedigreeError, PLAIN_WORDS, type JsonValue } from '#kernel';
import { readSecretFile } from '#secret-files';
import { z } from 'zod';
import type { Account, SignerConfig } from './port.js';

/** Variables by name, where an accounts file refers to them. */
export type Environment = Record<string, string | undefined>;

const MAX_TIME_LIMIT_MS = 30_000;
const MAX_SECRET_BYTES = 16_384;
const text = z.string().min(1);

/** A secret in three ways of which one is used: in the file, in a file of its own, in a variable. */
const secret = <Name extends string>(name: Name) =>
  ({ [name]: z.string().optional(), [`${name}_file`]: text.optional(), [`${name}_env`]: text.optional() }) as Record<
    Name | `${Name}_file` | `${Name}_env`,
    z.ZodOptional<z.ZodString>
  >;

const outside = {
  ...secret('secret'),
  certificate_file: text.optional(),
  /** Within the time that a sign-in may take. */
  time_limit_ms: z.number().int().min(1).max(MAX_TIME_LIMIT_MS).default(5_000),
  concurrency: z.number().int().min(1).max(64).default(2),
};

const command = z
  .array(z.string())
  .min(1)
  .refine((parts) => parts[0] !== '', 'names no program')
  .refine(
    (parts) => !parts.some((part) => part.includes('{secret}')),
    'a secret in an argument is seen by every user of the machine: let the program read the variable SIGNER_SECRET',
  );

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
const url = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .refine(
    (address) => address.startsWith('https:') || LOOPBACK.has(new URL(address).hostname),
    'must be https but on this machine itself',
  )
  .refine((address) => new URL(address).username === '', 'must not carry a user: use headers and secret');

const signer = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('pkcs12'), file: text, ...secret('password') }),
  z.strictObject({
    kind: z.literal('command'),
    command,
    environment: z.record(z.string(), z.string()).default({}),
    ...outside,
  }),
  z.strictObject({
    kind: z.literal('http'),
    url,
    headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/, 'is no name of a header'), z.string()).default({}),
    body: z.json().optional(),
    answer_field: text.optional(),
    ca_file: text.optional(),
    retries: z.number().int().min(0).max(5).default(2),
    ...outside,
  }),
  z.strictObject({ kind: z.literal('password'), ...secret('password') }),
]);

const accountShape = z.strictObject({
  /** Part of lane names and of log lines. */
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits, dots, underscores or hyphens'),
  client_id: text,
  ...secret('client_secret'),
  /** Of a user with a certificate its SHA-1 or the registry's id; of a user with a password the login. */
  user_id: text,
  signer,
});

type RawAccount = z.infer<typeof accountShape>;
type RawSigner = z.infer<typeof signer>;

const refuse = (field: string, message: string): never => {
  throw new PedigreeError('invalid_configuration', `${field}: ${message}`, { field });
};

/**
 * The accounts of one installation from their JSON file; other files are found from the folder of that file.
 * `environment` holds the variables that `…_env` may name. No message contains a value of the file, since half of them
 * are secrets.
 * @throws PedigreeError invalid_configuration, naming index and field, for example `accounts[1].client_secret`.
 */
export function readAccounts(file: string, environment: Environment = {}): Account[] {
  return parseAccounts(file).map((account, index) => {
    const at = `accounts[${index}]`;
    const read = new SecretReader(dirname(file), environment, at);
    const { name, client_id: clientId, user_id: userId } = account;
    return {
      name,
      clientId,
      clientSecret: read.required(account, 'client_secret'),
      userId,
      signer: signerOf(account.signer, dirname(file), read.under('signer')),
    };
  });
}

/**
 * What may be shown of the accounts, without looking for any secret. @throws PedigreeError invalid_configuration, as
 * `readAccounts`.
 */
export const describeAccounts = (file: string): { name: string; userId: string; signer: SignerConfig['kind'] }[] =>
  parseAccounts(file).map(({ name, user_id: userId, signer: { kind } }) => ({ name, userId, signer: kind }));

function parseAccounts(file: string): RawAccount[] {
  const parsed = z.array(accountShape).min(1).safeParse(readJson(file), PLAIN_WORDS);
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    return refuse(
      path.reduce<string>(
        (step, key) => (typeof key === 'number' ? `${step}[${key}]` : `${step}.${String(key)}`),
        'accounts',
      ),
      message,
    );
  }
  const seen = new Set<string>();
  parsed.data.forEach(({ name }, index) => {
    if (seen.has(name)) refuse(`accounts[${index}].name`, `"${name}" is taken by an earlier account`);
    seen.add(name);
  });
  return parsed.data;
}

function signerOf(raw: RawSigner, folder: string, secrets: SecretReader): SignerConfig {
  if (raw.kind === 'pkcs12')
    return { kind: 'pkcs12', file: resolve(folder, raw.file), password: secrets.required(raw, 'password') };
  if (raw.kind === 'password') return { kind: 'password', password: secrets.required(raw, 'password') };
  const held = secrets.optional(raw, 'secret');
  const common = {
    timeLimitMs: raw.time_limit_ms,
    concurrency: raw.concurrency,
    ...(raw.certificate_file === undefined ? {} : { certificateFile: resolve(folder, raw.certificate_file) }),
    ...defined({ secret: held }),
  };
  if (raw.kind === 'command')
    return { kind: 'command', command: raw.command, folder: resolve(folder), environment: raw.environment, ...common };
  return {
    kind: 'http',
    url: raw.url,
    headers: raw.headers,
    retries: raw.retries,
    ...(raw.body === undefined ? {} : { body: raw.body as JsonValue }),
    ...defined({ answerField: raw.answer_field }),
    ...(raw.ca_file === undefined ? {} : { caFile: resolve(folder, raw.ca_file) }),
    ...common,
  };
}

/** Finds secrets where the accounts file says that they are. */
class SecretReader {
  constructor(
    private readonly folder: string,
    private readonly environment: Environment,
    private readonly at: string,
  ) {}

  under(field: string): SecretReader {
    return new SecretReader(this.folder, this.environment, `${this.at}.${field}`);
  }

  required(holder: object, name: string): string {
    return (
      this.optional(holder, name) ??
      refuse(`${this.at}.${name}`, `is missing; it may also be given as ${name}_file or ${name}_env`)
    );
  }

  optional(holder: object, name: string): string | undefined {
    const given = Object.entries(holder as Record<string, string | undefined>).filter(
      ([key, value]) => value !== undefined && [name, `${name}_file`, `${name}_env`].includes(key),
    );
    const [[key, value] = [name, undefined]] = given;
    const field = `${this.at}.${key}`;
    if (given.length > 1) return refuse(field, `is given more than once: ${given.map(([each]) => each).join(', ')}`);
    if (value === undefined || key === name) return value;
    if (key === `${name}_env`) return this.environment[value] ?? refuse(field, `the variable ${value} is not set`);
    return this.fromFile(field, resolve(this.folder, value));
  }

  private fromFile(field: string, file: string): string {
    let bytes: Buffer;
    try {
      bytes = readSecretFile(file);
    } catch (error) {
      return refuse(field, whyUnread(file, error));
    }
    // An editor ends the last line, and no secret ends in a line's end.
    const value = bytes.toString('utf8').replace(/[\r\n]+$/, '');
    if (value === '') return refuse(field, `${file} is empty`);
    return bytes.length > MAX_SECRET_BYTES ? refuse(field, `${file} is longer than ${MAX_SECRET_BYTES} bytes`) : value;
  }
}

/** An error of the file system by its code, one in words as it is. */
function whyUnread(file: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : `cannot read ${file} (${code})`;
}

function readJson(file: string): unknown {
  let content: string;
  try {
    content = readSecretFile(file).toString('utf8');
  } catch (error) {
    return refuse('accounts', whyUnread(file, error));
  }
  try {
    return JSON.parse(content);
  } catch {
    // The parser's own message quotes the text around the fault, which may be a secret.
    return refuse('accounts', `${file} is not JSON`);
  }
}
