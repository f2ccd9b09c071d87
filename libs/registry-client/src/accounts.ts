import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { PedigreeError } from '#kernel';
import { z } from 'zod';
import type { Account } from './port.js';

const accountShape = z.strictObject({
  /** Part of lane names and of log lines. */
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits, dots, underscores or hyphens'),
  client_id: z.string().min(1),
  client_secret: z.string().min(1),
  user_id: z.string().min(1),
  signer: z.strictObject({ kind: z.literal('pkcs12'), file: z.string().min(1), password: z.string() }),
});

const refuse = (field: string, message: string): never => {
  throw new PedigreeError('invalid_configuration', `${field}: ${message}`, { field });
};

/**
 * The accounts of one installation from their JSON file; key files are found from the folder of that file.
 * No message contains a value of the file, since half of them are secrets.
 * @throws PedigreeError invalid_configuration, naming index and field, for example `accounts[1].client_secret`.
 */
export function readAccounts(file: string): Account[] {
  const parsed = z.array(accountShape).min(1).safeParse(readJson(file));
  if (!parsed.success) {
    const issue = parsed.error.issues[0] as z.core.$ZodIssue;
    const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] as string] : issue.path;
    return refuse(path.reduce<string>((text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}.${String(step)}`), 'accounts'), issue.message);
  }
  const seen = new Set<string>();
  return parsed.data.map((account, index) => {
    if (seen.has(account.name)) refuse(`accounts[${index}].name`, `"${account.name}" is taken by an earlier account`);
    seen.add(account.name);
    return {
      name: account.name,
      clientId: account.client_id,
      clientSecret: account.client_secret,
      userId: account.user_id,
      signer: { ...account.signer, file: resolve(dirname(file), account.signer.file) },
    };
  });
}

function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return refuse('accounts', `cannot read ${file} (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text around the fault, which may be a secret.
    return refuse('accounts', `${file} is not JSON`);
  }
}
