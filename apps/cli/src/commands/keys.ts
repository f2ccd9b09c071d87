import { ApiKeys, ROLES, type Role } from '../../../gateway/src/access/api-keys.js';
import { gatewaySchemas } from '../../../gateway/src/gateway.js';
import { refuseUnfinishedRestore } from '#backup';
import { PedigreeError } from '#kernel';
import { migrate } from '#postgres';
import type { CliConfig } from '../config.js';
import { out, table } from '../print.js';
import { withDatabase } from '../stack/with-database.js';

const withKeys = <T>(config: CliConfig, work: (keys: ApiKeys) => Promise<T>): Promise<T> =>
  withDatabase(config, async (pool) => {
    await refuseUnfinishedRestore(pool);
    await migrate(pool, gatewaySchemas);
    return work(new ApiKeys(pool));
  });

/** Makes a key and prints it, this once. */
export async function addKey(config: CliConfig, name: string, roles: string[]): Promise<number> {
  const wrong = roles.find((role) => !(ROLES as readonly string[]).includes(role));
  if (wrong !== undefined) throw new PedigreeError('invalid_parameter', `--role: ${wrong} is none of ${ROLES.join(', ')}`, { field: '--role' });
  out(await withKeys(config, (keys) => keys.add(name, roles as Role[])));
  return 0;
}

export async function listKeys(config: CliConfig): Promise<number> {
  const rows = await withKeys(config, (keys) => keys.list());
  out(table(['name', 'roles', 'made', 'revoked'], rows.map((row) => [row.name, row.roles.join(' '), row.createdAt.toISOString(), row.revokedAt?.toISOString()])));
  return 0;
}

export const revokeKey = async (config: CliConfig, name: string): Promise<number> => ((await withKeys(config, (keys) => keys.revoke(name))) ? 0 : 1);
