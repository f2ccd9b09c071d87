import { z } from 'zod';
import { invalidConfiguration } from '#kernel';
import { readSecretFile } from '#secret-files';
import { readVariable } from '#service';

/** `starttls`: the connection must become a TLS one before anything is said. `tls`: it is one from the first byte. */
const MAIL_TLS = ['starttls', 'tls', 'none'] as const;

const ADDRESS = /^[^\s@<>,;"]+@[^\s@<>,;"]+$/;
const address = z.string().regex(ADDRESS, 'must be an address such as quality@example.org');

/** Variables of the worker. */
export const mailVariables = {
  /** Host of the mail server. Absent: no mail is sent. */
  PEDIGREE_MAIL_HOST: z.string().min(1).optional(),
  PEDIGREE_MAIL_PORT: z.coerce.number().int().min(1).max(65_535).default(587),
  PEDIGREE_MAIL_TLS: z.enum(MAIL_TLS).default('starttls'),
  /** Whom to sign in as; absent: nobody signs in. */
  PEDIGREE_MAIL_USER: z.string().min(1).optional(),
  PEDIGREE_MAIL_PASSWORD_FILE: z.string().min(1).optional(),
  PEDIGREE_MAIL_FROM: address.optional(),
  /** One address, or several with commas between them. */
  PEDIGREE_MAIL_TO: z.string().optional(),
};

export interface MailSettings {
  host: string;
  port: number;
  tls: (typeof MAIL_TLS)[number];
  login: { user: string; password: string } | undefined;
  from: string;
  to: string[];
}

type Given = z.infer<z.ZodObject<typeof mailVariables>>;

/** Undefined where no mail is wanted. @throws PedigreeError that names the variable. */
export function readMailSettings(given: Given): MailSettings | undefined {
  const { PEDIGREE_MAIL_HOST: host, PEDIGREE_MAIL_PORT: port, PEDIGREE_MAIL_TLS: tls } = given;
  if (host === undefined) return nothingWithoutHost(given);
  const { PEDIGREE_MAIL_FROM: from } = given;
  const to = (given.PEDIGREE_MAIL_TO ?? '').split(',').map((one) => one.trim());
  if (from === undefined) throw invalidConfiguration('PEDIGREE_MAIL_FROM', 'must be set where PEDIGREE_MAIL_HOST is');
  const odd = to.find((one) => !ADDRESS.test(one));
  if (odd !== undefined) throw invalidConfiguration('PEDIGREE_MAIL_TO', `"${odd}" is not an address`);
  const login = loginOf(given);
  if (login !== undefined && tls === 'none')
    throw invalidConfiguration('PEDIGREE_MAIL_TLS', 'none would send the password of PEDIGREE_MAIL_USER in the clear');
  return { host, port, tls, login, from, to };
}

/** @throws PedigreeError where somebody wants mail, and names no server. */
function nothingWithoutHost(given: Given): undefined {
  const names = [
    'PEDIGREE_MAIL_FROM',
    'PEDIGREE_MAIL_TO',
    'PEDIGREE_MAIL_USER',
    'PEDIGREE_MAIL_PASSWORD_FILE',
  ] as const;
  const set = names.find((one) => given[one] !== undefined);
  if (set !== undefined) throw invalidConfiguration('PEDIGREE_MAIL_HOST', `must be set where ${set} is`);
}

function loginOf({ PEDIGREE_MAIL_USER: user, PEDIGREE_MAIL_PASSWORD_FILE: file }: Given): MailSettings['login'] {
  if (user === undefined && file === undefined) return undefined;
  if (user === undefined)
    throw invalidConfiguration('PEDIGREE_MAIL_USER', 'must be set where PEDIGREE_MAIL_PASSWORD_FILE is');
  if (file === undefined)
    throw invalidConfiguration('PEDIGREE_MAIL_PASSWORD_FILE', 'must be set where PEDIGREE_MAIL_USER is');
  const password = readVariable('PEDIGREE_MAIL_PASSWORD_FILE', () => readSecretFile(file).toString('utf8').trim());
  return { user, password };
}
