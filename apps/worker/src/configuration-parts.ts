import { readFileSync } from 'node:fs';
import { migrationsApplied, type DescribedPart } from '#configuration';
import { SOFTWARE_VERSION } from '#event-store';
import { sha256Hex, type JsonObject } from '#kernel';
import type { MigrationSet, Pool } from '#postgres';
import type { Account } from '#registry-client';
import { describeWorkerConfig, type WorkerConfig } from './config.js';

/**
 * What the worker's settings are made of, as the log keeps them (stream `configuration`): the profile with its
 * overrides field by field.
 */
export async function workerParts(config: WorkerConfig, pool: Pool, sets: MigrationSet[]): Promise<DescribedPart[]> {
  const { profile, accounts: _, healthPort, healthHost, logLevel, ...configuration } = describeWorkerConfig(config);
  return [
    {
      part: 'configuration',
      state: { ...configuration, profile: config.profile.name },
      local: { healthPort, healthHost, logLevel },
    },
    { part: 'profile', state: profile },
    {
      part: 'accounts',
      state: Object.fromEntries(config.accounts.map((account) => [account.name, describedAccount(account)])),
    },
    { part: 'schemas', state: { migrations: await migrationsApplied(pool, sets) } },
    { part: 'software', state: { version: SOFTWARE_VERSION } },
  ];
}

/** An account without its secrets. A new key or certificate shows by the digest of its file. */
function describedAccount({ userId, signer }: Account): JsonObject {
  const file = signer.kind === 'pkcs12' ? signer.file : signer.kind === 'password' ? undefined : signer.certificateFile;
  return { userId, signer: signer.kind, ...(file === undefined ? {} : { signerFileSha256: digestOfFile(file) }) };
}

/** A file that cannot be read is said by whoever signs with it: the worker goes on for the other accounts. */
function digestOfFile(file: string): string {
  try {
    return sha256Hex(readFileSync(file));
  } catch {
    return 'unreadable';
  }
}
