import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withDefaults, type SandboxOptions } from './config.js';
import { controlServer } from './control/server.js';
import { tlsOf, type Tls } from './http/certificates.js';
import { publicServer } from './http/server.js';
import { Registry } from './registry.js';

/** A running sandbox. */
export interface Sandbox {
  /** Base of the registry, without the version prefix. */
  url: string;
  /** Base of the control port. */
  controlUrl: string;
  profile: string;
  /** Names of the users. */
  accounts: string[];
  /** Highest rate at which a knob spoils calls on purpose, 0 to 1. */
  misbehave: number;
  /** File of the certificate of the authority, where the registry speaks TLS. */
  ca?: string;
  /** Closes both ports and the journal. May be called twice. */
  stop(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';

/**
 * Starts the registry on a laptop. Rejects with an Error that says what is wrong with an option, a data file or a port.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = withDefaults(options);
  const registry = new Registry(settings);
  const servers: Server[] = [];
  let tls: Tls | undefined;
  const stop = once(async () => {
    await Promise.all(servers.map(close));
    tls?.forget();
    registry.close();
  });
  try {
    const open = async (server: Server, port: number) => {
      servers.push(server);
      return listen(server, port);
    };
    if (settings.tls) tls = tlsOf(settings.dataDir);
    const controlUrl = `http://${await open(controlServer(registry), settings.controlPort)}`;
    registry.controlUrl = controlUrl;
    return {
      url: `${settings.tls ? 'https' : 'http'}://${await open(publicServer(registry, tls), settings.port)}`,
      controlUrl,
      profile: registry.profile.name,
      accounts: [...registry.world.accountsByName.keys()],
      misbehave: Math.max(...registry.faults.misbehaviour.report().map(({ rate }) => rate)),
      ...(tls === undefined ? {} : { ca: tls.caFile }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function listen(server: Server, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, LOOPBACK, () => {
      server.off('error', reject);
      resolve(`${LOOPBACK}:${(server.address() as AddressInfo).port}`);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function once(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= action());
}
