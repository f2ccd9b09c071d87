import { describeAccounts } from '#registry-client';
import { cliConfig } from '../config.js';
import { out } from '../print.js';

/** Prints the configuration in force as JSON, with every secret left out. */
export function showConfig(env: NodeJS.ProcessEnv): number {
  const { apiKey, databaseUrl, accountsFile, environment: _, ...rest } = cliConfig(env);
  const accounts = describeAccounts(accountsFile);
  const shown = { ...rest, databaseUrl: databaseUrl === undefined ? 'embedded' : withoutPassword(databaseUrl), apiKey: apiKey === undefined ? 'none' : 'set', accountsFile, accounts };
  out(JSON.stringify(shown, null, 2));
  return 0;
}

function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  if (url.password !== '') url.password = '***';
  return url.href;
}
