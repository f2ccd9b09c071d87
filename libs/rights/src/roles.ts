import { invalidConfiguration } from '#kernel';

/** The programs that work on the database: each may have a role of its own. */
export const PROGRAM_ROLES = ['gateway', 'worker', 'auditor', 'reconciler'] as const;
/** With two roles for people, who read. None of them owns a table. */
export const ROLES = [...PROGRAM_ROLES, 'backup', 'inspector'] as const;
export type Role = (typeof ROLES)[number];

/** Longer names would be cut off by PostgreSQL at 63 bytes. */
const PREFIX = /^[a-z_][a-z0-9_]{0,47}$/;

/** The name of each role in PostgreSQL. Throws PedigreeError for a prefix that is not a plain name. */
export function roleNames(prefix: string): Record<Role, string> {
  if (!PREFIX.test(prefix))
    throw invalidConfiguration(
      'DATABASE_ROLE_PREFIX',
      `${prefix} is none; take up to 48 small letters, digits and underscores, as pedigree_`,
    );
  return Object.fromEntries(ROLES.map((role) => [role, `${prefix}${role}`])) as Record<Role, string>;
}

/** The address of the same database for a role. Throws PedigreeError as `roleNames`. */
export function addressOf(
  databaseUrl: string,
  { prefix, role, password }: { prefix: string; role: Role; password: string },
): string {
  const url = new URL(databaseUrl);
  url.username = roleNames(prefix)[role];
  url.password = password;
  return url.href;
}
