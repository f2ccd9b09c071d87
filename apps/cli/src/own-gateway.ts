import { invalidConfiguration } from '#kernel';
import type { CliConfig } from './config.js';
import { GatewayClient } from './gateway-client.js';
import { DataDir } from './stack/data-dir.js';

/** The gateway that the configuration names, or the one that is up on DATA_DIR. */
export function gatewayOf({ gatewayUrl, dataDir, apiKey }: CliConfig): GatewayClient {
  const url = gatewayUrl ?? new DataDir(dataDir).readAddress()?.url;
  if (url === undefined)
    throw invalidConfiguration('PEDIGREE_URL', `not set, and nothing is up on ${dataDir}; run npm start first`);
  return new GatewayClient(url, apiKey);
}
