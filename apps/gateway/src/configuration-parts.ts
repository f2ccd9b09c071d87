import { migrationsApplied, recordConfiguration, starterOf, type DescribedPart } from '#configuration';
import { SOFTWARE_VERSION } from '#event-store';
import { installationId, type MigrationSet, type Pool } from '#postgres';
import { describeGatewayConfig, type GatewayConfig } from './config.js';
import type { Services } from './services.js';

/**
 * What the gateway's settings are made of, as the log keeps them (stream `configuration`). The profile itself is the
 * worker's: the gateway uses its name and limits.
 */
async function gatewayParts(config: GatewayConfig, pool: Pool, sets: MigrationSet[]): Promise<DescribedPart[]> {
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
        documents: config.schemas.describe(),
        migrations: await migrationsApplied(pool, sets),
      },
    },
    { part: 'software', state: { version: SOFTWARE_VERSION } },
  ];
}

/** What this gateway is set to stands in the log before it takes anything. */
export async function recordSettings(
  config: GatewayConfig,
  { pool, store, says }: Services,
  schemas: MigrationSet[],
): Promise<void> {
  await recordConfiguration({
    store,
    installation: { id: await installationId(pool), ...says },
    program: 'gateway',
    parts: await gatewayParts(config, pool, schemas),
    actor: starterOf(config.changedBy),
    reason: config.changeReason,
  });
}
