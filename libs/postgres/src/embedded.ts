import { mkdir, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { findBinaries, type Binaries } from './embedded/binaries.js';
import { createCluster, openCluster, type Cluster } from './embedded/cluster.js';
import {
  answers,
  findPostmaster,
  startPostmaster,
  stopPostmaster,
  untilReady,
  urlOf,
  type Postmaster,
} from './embedded/postmaster.js';
import { isAlive, withStartLock } from './embedded/start-lock.js';
import { beginUse, type Use } from './embedded/uses.js';

export interface EmbeddedPostgresOptions {
  /** Folder for everything of this server: cluster, password (0600), log. Made when missing. */
  dataDir: string;
  /**
   * As root only: where clusters and programs go that the server's user cannot reach in place. Default
   * /var/lib/pedigree.
   */
  systemDir?: string;
  /**
   * False only for tests that prove nothing about durability: no fsync, no full pages, asynchronous commit. Default
   * true.
   */
  durable?: boolean;
  /** Further server settings, name to value; they win over ours. */
  settings?: Record<string, string>;
}

export interface EmbeddedPostgres {
  /** Of the database `postgres`, with user and password. */
  url: string;
  /** Fast shutdown; returns when the server is gone, also when another process had started it, or uses it. */
  stop(): Promise<void>;
  /**
   * Ends our use. The last of those that use it together stops the server; one that a killed process left running stays
   * for the next start.
   */
  leave(): Promise<void>;
  /** True when the server was running already: a process before us was killed, or another one shares it. */
  reused: boolean;
}

/** A starter that waits for another one's initdb, or for a server's recovery, waits at most so long. */
const START_WAIT_MS = 330_000;

/** For many small transactions on a small machine that the server shares with its clients. */
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  // Full page images after a checkpoint are most of the log: fewer checkpoints and compressed images.
  checkpoint_timeout: '15min',
  max_wal_size: '2GB',
  min_wal_size: '256MB',
  wal_compression: 'on',
  wal_buffers: '16MB',
  random_page_cost: '1.1',
  // Short statements gain nothing from parallel workers, and pay for them.
  max_parallel_workers_per_gather: '0',
  // The cluster's own password needs fewer; that of a role that somebody makes may be a word.
  scram_iterations: '4096',
  log_checkpoints: 'off',
  log_timezone: 'UTC',
  timezone: 'UTC',
};
const DURABLE = { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on' };
const NOT_DURABLE = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };

/**
 * A PostgreSQL of our own for a machine that has none: programs from npm, a cluster in `dataDir`, loopback only, on a
 * random free port, behind a password. The server outlives a killed parent and is then found through its postmaster.pid
 * and used again. Several processes may call this at once for one folder: one starts it, the others get `reused: true`.
 * @throws Error in words when the programs do not run here, the cluster is gone, or the server ends with the end of its
 *   log.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  await mkdir(options.dataDir, { recursive: true });
  // The server reports its folder without symbolic links, and is recognised by it.
  const dataDir = await realpath(resolve(options.dataDir));
  const locked: Locked = (work) => withStartLock(join(dataDir, 'start.lock'), START_WAIT_MS, work);
  return locked(async () => {
    const systemDir = options.systemDir ?? '/var/lib/pedigree';
    const cluster = await openCluster(dataDir, systemDir);
    const copiesDir = cluster.user === undefined ? dataDir : systemDir;
    const binaries = await findBinaries({ user: cluster.user, copiesDir });
    const durable = options.durable ?? true;
    if (!cluster.ready) await createCluster(cluster, { binaries, dataDir, durable });
    const running = await runningServer(cluster);
    const settings = { ...SETTINGS, ...(durable ? DURABLE : NOT_DURABLE), ...options.settings };
    const reused = running !== undefined;
    // Before the server: one that nobody is known to use would be stopped by nobody.
    const use = await beginUse(dataDir, !reused);
    try {
      const server =
        running ?? (await startPostmaster(cluster, { binaries, logFile: join(dataDir, 'postgres.log'), settings }));
      return handle(cluster, { binaries, server, reused, locked, use });
    } catch (error) {
      await use.end();
      throw error;
    }
  });
}

type Locked = <T>(work: () => Promise<T>) => Promise<T>;

/** The server that a killed parent left behind, once it answers: it may still be replaying its log. */
async function runningServer(cluster: Cluster): Promise<Postmaster | undefined> {
  const found = await findPostmaster(cluster);
  if (found === undefined) return undefined;
  if (await answers(cluster, found)) return found;
  return untilReady(cluster, () => (isAlive(found.pid) ? undefined : 'gone'));
}

interface Handled {
  binaries: Binaries;
  server: Postmaster;
  reused: boolean;
  locked: Locked;
  use: Use;
}

function handle(cluster: Cluster, { binaries, server, reused, locked, use }: Handled): EmbeddedPostgres {
  return {
    url: urlOf(cluster, server.port),
    reused,
    stop: async () => {
      await use.end();
      await stopPostmaster(cluster, binaries);
    },
    leave: () =>
      locked(async () => {
        if (await use.end()) await stopPostmaster(cluster, binaries);
      }),
  };
}
