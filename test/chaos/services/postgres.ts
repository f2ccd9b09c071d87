import { readdir, readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#postgres';
import { TcpProxy } from './proxy.js';

/** A PostgreSQL of the campaign's own: it comes back on another port each time, so a proxy keeps its address. */
export class PostgresService {
  private constructor(
    private readonly dataDir: string,
    private readonly proxy: TcpProxy,
    private server: EmbeddedPostgres,
  ) {}

  /** Durable: what survives a kill is the question. */
  static async start(dataDir: string): Promise<PostgresService> {
    const server = await startEmbeddedPostgres({ dataDir });
    return new PostgresService(dataDir, await TcpProxy.start(portOf(server)), server);
  }

  /** The address that stays. */
  get url(): string {
    return this.addressed(this.proxy.port);
  }

  /** Fast shutdown: sessions are ended, a checkpoint is written. */
  async stop(): Promise<void> {
    await this.server.stop();
  }

  /** The server with all its processes, as a power cut would. */
  async kill(): Promise<void> {
    const pid = await this.postmaster();
    for (const victim of [pid, ...(await childrenOf(pid))]) {
      try {
        process.kill(victim, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  }

  async startAgain(): Promise<void> {
    this.server = await startEmbeddedPostgres({ dataDir: this.dataDir });
    await this.proxy.order({ targetPort: portOf(this.server) });
  }

  /** For good. */
  async close(): Promise<void> {
    await this.server.stop();
    this.proxy.stop();
  }

  private addressed(port: number): string {
    const url = new URL(this.server.url);
    url.port = String(port);
    return url.href;
  }

  private async postmaster(): Promise<number> {
    const { directory } = JSON.parse(await readFile(join(this.dataDir, 'cluster.json'), 'utf8')) as {
      directory: string;
    };
    const cluster = isAbsolute(directory) ? directory : join(this.dataDir, directory);
    return Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0]);
  }
}

const portOf = (server: EmbeddedPostgres): number => Number(new URL(server.url).port);

/** The server's own children, which have sessions of their own; where there is no /proc they find out by themselves. */
export async function childrenOf(pid: number): Promise<number[]> {
  const children: number[] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : '';
    // The fourth field is the parent; the name before it, in brackets, may hold blanks.
    if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid) children.push(Number(name));
  }
  return children;
}
