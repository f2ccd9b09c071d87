import { openEventStore } from '#event-store';
import { invalidConfiguration } from '#kernel';
import { openPool } from '#postgres';
import { readSecretFile } from '#secret-files';
import { HttpPort, readVariable, type Health, type ServiceLog } from '#service';
import { serveLog } from './serve.js';

/** Where the log is published as static files, and who may read it. */
export interface LogPortConfig {
  port: number;
  host: string;
  /** File with the token that readers give; needed beyond loopback. */
  tokenFile: string | undefined;
}

export interface LogPortOptions extends LogPortConfig {
  databaseUrl: string;
  eventStoreUrl: string | undefined;
  health: Health;
  log: ServiceLog;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;
const CUT_AFTER_MS = 1_000;
const SHORTEST_TOKEN = 20;
/** Readers have connections of their own: they may be many, and sealing must not wait for them. */
const CONNECTIONS = 2;

/** Opens the port; `url` is the prefix of the log (C2SP tlog-tiles, Parameters). */
export async function openLogPort(options: LogPortOptions): Promise<{ url: string; stop(): Promise<void> }> {
  const { port, host, health, log } = options;
  const token = tokenOf(options);
  const opened = await HttpPort.open({
    ...{ port, host, health },
    variables: { port: 'AUDIT_LOG_PORT', host: 'AUDIT_LOG_HOST' },
  });
  const pool = openPool({
    connectionString: options.databaseUrl,
    maxConnections: CONNECTIONS,
    applicationName: 'pedigree-auditor-log',
  });
  const store = await openEventStore({ pool, eventStoreUrl: options.eventStoreUrl });
  opened.serve(serveLog({ source: { pool, store }, token, log }));
  return {
    url: opened.url,
    stop: async () => {
      await opened.drain(CUT_AFTER_MS);
      await store.close();
      await pool.end();
    },
  };
}

/** Every event is in there: who reaches the machine from outside must show that he may read it. */
function tokenOf({ host, tokenFile }: LogPortConfig): string | undefined {
  if (tokenFile === undefined) {
    if (LOOPBACK.test(host)) return undefined;
    throw invalidConfiguration(
      'AUDIT_LOG_HOST',
      `${host} is not a loopback address; readers from elsewhere need a token (AUDIT_LOG_TOKEN_FILE)`,
    );
  }
  return readVariable('AUDIT_LOG_TOKEN_FILE', () => {
    const token = readSecretFile(tokenFile).toString('utf8').trim();
    if (token.length < SHORTEST_TOKEN) throw new Error(`must have ${SHORTEST_TOKEN} characters or more`);
    return token;
  });
}
