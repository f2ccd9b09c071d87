import { randomBytes } from 'node:crypto';
import { copySchemas } from '../../apps/auditor/src/sweep/models-check.js';
import { allSchemas } from '../../apps/cli/src/schemas.js';
import { migrate, openPool, type Pool } from '#postgres';
import { addressOf, compareRights, grantRights, ROLES, type RightsFinding, type Role } from '#rights';
import type { TestDatabase } from './database.js';

/** A database whose programs have roles of their own, named for this test alone: roles are the whole server's. */
export interface ProgramRoles {
  prefix: string;
  url(role: Role): string;
  /** A pool of this role; ended with the roles. */
  as(role: Role): Pool;
  findings(): Promise<RightsFinding[]>;
  /** Before the database is dropped: roles go with all that they were given. */
  drop(): Promise<void>;
}

/** Migrates the database, makes the roles, and gives each its rights. */
export async function programRoles(db: TestDatabase): Promise<ProgramRoles> {
  const prefix = `t${randomBytes(6).toString('hex')}_`;
  const password = randomBytes(12).toString('hex');
  await migrate(db.pool, allSchemas());
  const options = { prefix, copySchemas: copySchemas() };
  await grantRights(db.pool, { ...options, passwords: Object.fromEntries(ROLES.map((role) => [role, password])) });
  const pools: Pool[] = [];
  const url = (role: Role): string => addressOf(db.url, { prefix, role, password });
  return {
    prefix,
    url,
    as: (role) => {
      const pool = openPool({ connectionString: url(role), maxConnections: 2, applicationName: `pedigree-test` });
      pools.push(pool);
      return pool;
    },
    findings: () => compareRights(db.pool, options),
    drop: async () => {
      for (const pool of pools.splice(0)) await pool.end();
      await dropRoles(db.pool, prefix);
    },
  };
}

/** Roles of this prefix, with all that they own and were given in this database. */
export async function dropRoles(pool: Pool, prefix: string): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT quote_ident(rolname) AS name FROM pg_roles WHERE starts_with(rolname, $1)`,
    [prefix],
  );
  for (const { name } of rows) await pool.query(`DROP OWNED BY ${name} CASCADE; DROP ROLE ${name}`);
}
