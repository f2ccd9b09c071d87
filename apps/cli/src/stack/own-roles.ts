import { randomBytes } from 'node:crypto';
import { copySchemas } from '../../../auditor/src/sweep/models-check.js';
import { refuseUnfinishedRestore } from '#backup';
import { migrate, type Pool } from '#postgres';
import { addressOf, grantRights, PROGRAM_ROLES } from '#rights';
import { allSchemas } from '../schemas.js';

/** The address of the database for each program. */
export type ProgramAddresses = Record<(typeof PROGRAM_ROLES)[number], string>;

/**
 * Migrates the embedded database and gives each program a role of its own, with a password that only this run knows.
 * Nobody else may be up on it: his programs would be locked out.
 */
export async function ownRoles(pool: Pool, databaseUrl: string, prefix: string): Promise<ProgramAddresses> {
  await refuseUnfinishedRestore(pool);
  await migrate(pool, allSchemas());
  const passwords = Object.fromEntries(PROGRAM_ROLES.map((role) => [role, randomBytes(24).toString('base64url')]));
  await grantRights(pool, { prefix, copySchemas: copySchemas(), passwords });
  return Object.fromEntries(
    PROGRAM_ROLES.map((role) => [role, addressOf(databaseUrl, { prefix, role, password: passwords[role] as string })]),
  ) as ProgramAddresses;
}

/** Where somebody names the database, every program uses that address. */
export const oneAddress = (databaseUrl: string): ProgramAddresses =>
  Object.fromEntries(PROGRAM_ROLES.map((role) => [role, databaseUrl])) as ProgramAddresses;
