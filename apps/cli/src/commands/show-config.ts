import { checkConfigFiles } from '../config-files.js';
import { cliConfig } from '../config.js';
import { out } from '../print.js';

/** Prints the configuration in force as JSON, with every secret left out. */
export function showConfig(env: NodeJS.ProcessEnv): number {
  const config = cliConfig(env);
  const { apiKey, environment: _, ...rest } = config;
  const shown = {
    ...rest,
    registryUrl: withoutSecrets(config.registryUrl),
    registryControlUrl: withoutSecrets(config.registryControlUrl),
    gatewayUrl: withoutSecrets(config.gatewayUrl),
    databaseUrl: withoutSecrets(config.databaseUrl) ?? 'embedded',
    apiKey: apiKey === undefined ? 'none' : 'set',
    accounts: checkConfigFiles(config),
  };
  out(JSON.stringify(shown, null, 2));
  return 0;
}

const SECRET_PARAMETER = /pass|secret|token|key/i;

/** An address may carry a password in two places: before the host, and among its parameters. */
function withoutSecrets(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  const url = new URL(address);
  if (url.password !== '') url.password = '***';
  for (const name of [...url.searchParams.keys()]) if (SECRET_PARAMETER.test(name)) url.searchParams.set(name, '***');
  return url.href;
}
