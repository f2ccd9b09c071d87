import { migrationsApplied, type DescribedPart } from '#configuration';
import { SCHEMA_VERSION, schemaSetDigest } from '#documents';
import { SOFTWARE_VERSION } from '#event-store';
import type { MigrationSet, Pool } from '#postgres';
import { describeGatewayConfig, type GatewayConfig } from './config.js';

/**
 * What the gateway's settings are made of, as the log keeps them (stream `configuration`). The profile itself is the
 * worker's: the gateway uses its name and limits.
 */
export async function gatewayParts(config: GatewayConfig, pool: Pool, sets: MigrationSet[]): Promise<DescribedPart[]> {
  const { accounts, port, healthPort, healthHost, logLevel, ...configuration } = describeGatewayConfig(config);
  return [
    {
      part: 'configuration',
      state: configuration,
      local: { port, healthPort, healthHost, logLevel } as DescribedPart['state'],
    },
    { part: 'accounts', state: { names: accounts ?? [] } },
    {
      part: 'schemas',
      state: {
        documents: { version: SCHEMA_VERSION, sha256: schemaSetDigest() },
        migrations: await migrationsApplied(pool, sets),
      },
    },
    { part: 'software', state: { version: SOFTWARE_VERSION } },
  ];
}
