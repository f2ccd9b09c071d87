import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { copySchemas } from '../../../auditor/src/sweep/models-check.js';
import { invalidConfiguration, invalidParameter } from '#kernel';
import { mayMigrate, migrate, requireMigrated, type Pool } from '#postgres';
import { addressOf, compareRights, grantRights, inUse, ROLES, type RightsFinding, type Role } from '#rights';
import type { CliConfig } from '../config.js';
import { out, say } from '../print.js';
import { allSchemas } from '../schemas.js';
import { writeDurablyOnce } from '#service';
import { withDatabase } from '../stack/with-database.js';

export interface GrantsFlags {
  check?: boolean;
  /** Folder for a file with DATABASE_URL for each role. */
  logins?: string;
  json?: boolean;
}

type Passwords = Partial<Record<Role, string>>;

/** Applies every migration that is missing. Returns 0; where programs have roles, as `grants`. */
export function migrateDatabase(config: CliConfig): Promise<number> {
  return withDatabase(config, async (pool) => {
    await requireOwner(pool, 'database migrate');
    const applied = await migrate(pool, allSchemas());
    for (const name of applied) say(name);
    out(applied.length === 0 ? 'every table is up to date' : `${applied.length} migrations were applied`);
    return (await inUse(pool, config.rolePrefix)) ? writeRights(config, pool, {}) : 0;
  });
}

/** Throws PedigreeError where the role of DATABASE_URL may not make tables, before anything was begun. */
export async function requireOwner(pool: Pool, command: string): Promise<void> {
  if (await mayMigrate(pool)) return;
  throw invalidConfiguration(
    'DATABASE_URL',
    `pedigree ${command} takes the role that owns the tables, and this one may not make any`,
  );
}

/** Writes the rights of each program, or only compares. Returns 0 where they are those of the table, else 1. */
export function grants(config: CliConfig, { check = false, logins, json = false }: GrantsFlags): Promise<number> {
  if (check && logins !== undefined) throw invalidParameter('--check', 'changes nothing, so it goes without --logins');
  return withDatabase(config, async (pool, databaseUrl) => {
    await requireMigrated(pool, allSchemas());
    if (!check) return writeRights(config, pool, { json, ...(logins === undefined ? {} : { logins, databaseUrl }) });
    const findings = await compareRights(pool, { prefix: config.rolePrefix, copySchemas: copySchemas() });
    return tell({ mended: [], left: findings }, json);
  });
}

async function writeRights(
  { rolePrefix: prefix }: CliConfig,
  pool: Pool,
  { json = false, logins, databaseUrl = '' }: { json?: boolean; logins?: string; databaseUrl?: string },
): Promise<number> {
  const passwords = logins === undefined ? {} : newPasswords(logins);
  const granted = await grantRights(pool, { prefix, copySchemas: copySchemas(), passwords });
  // A crash before this leaves a password that nobody knows: the next run gives another one.
  for (const [role, password] of Object.entries(passwords)) {
    const file = loginFile(logins as string, role as Role);
    const address = addressOf(databaseUrl, { prefix, role: role as Role, password });
    writeDurablyOnce(file, `DATABASE_URL=${address}\n`, 0o600);
    say(`${file}: DATABASE_URL of the ${role}`);
  }
  return tell(granted, json);
}

const loginFile = (folder: string, role: Role): string => join(folder, `${role}-login.env`);

function newPasswords(folder: string): Passwords {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return Object.fromEntries(
    ROLES.filter((role) => !existsSync(loginFile(folder, role))).map((role) => [
      role,
      randomBytes(24).toString('base64url'),
    ]),
  );
}

function tell({ mended, left }: { mended: RightsFinding[]; left: RightsFinding[] }, json: boolean): number {
  const told = ({ kind, text }: RightsFinding): object => ({ kind, text });
  if (json) out(JSON.stringify({ mended: mended.map(told), findings: left.map(told) }));
  else {
    for (const { kind, text } of mended) say(`mended, was ${kind}: ${text}`);
    for (const { kind, text } of left) out(`${kind}: ${text}`);
    out(left.length === 0 ? 'every role has the rights of the table, and no other' : `${left.length} findings`);
  }
  return left.length === 0 ? 0 : 1;
}
