import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { PostgresBus } from '#bus';
import { systemClock } from '#kernel';
import { openPool, startEmbeddedPostgres } from '#postgres';
import { isFree, quietPort } from '../chaos/services/ports.js';
import type { Stage } from './pages.js';
import { Shell, Terminal, type Said } from './shell.js';

/** What is made, not written, or is of this machine. */
const LEFT_BEHIND = /^(node_modules|dist|dist-.*|\.git|\.pedigree.*|coverage|.*\.log)$/;
/** Variables that a reader does not have, or that would lead a program away from what it was told. */
const NOT_A_READERS =
  /^(npm_|NODE_OPTIONS$|DATA_DIR$|DATABASE_URL$|EVENTSTORE_URL$|AMQP_|REGISTRY_|PEDIGREE_|PORT$|HOST$|HEALTH_|AUDIT_|RECONCILE_|SANDBOX_|LOG_LEVEL$)/;
/** Folders of a server that the pages name. The first would be found in what the others are read as. */
const SERVER_FOLDERS = [
  '/tmp/',
  '/etc/pedigree',
  '/etc/systemd/system',
  '/etc/cron.d',
  '/var/backups/pedigree',
  '/var/lib/pedigree-auditor',
  '/opt/pedigree',
];
const STAND_INS = { psql: 'psql.mjs', systemctl: 'systemctl.mjs' };
/** What only root may do, and what nobody here needs: the user of the programs is the one who types. */
const NOTHING = ['useradd', 'chown'];
const START_LIMIT_MS = 60_000;
const AGAIN_MS = 1_000;
const ASK_LIMIT_MS = 30_000;

export interface StageOptions {
  root: string;
  folder: string;
  /** Ports that the pages name. */
  ports: number[];
  say(text: string): void;
}

/**
 * Where the soak types: a copy of the clone in an empty folder, with terminals, and stand-ins for what a server has.
 */
export class TypingStage implements Stage {
  readonly clone: string;
  said = '';
  registryUrl = '';
  private shell: Shell | undefined;
  private readonly terminals = new Map<string, Terminal>();
  private readonly rewrites: { from: RegExp; to: string }[] = [];
  private readonly env: NodeJS.ProcessEnv;
  private readonly stops: (() => Promise<void>)[] = [];
  private blocks = 0;

  constructor(private readonly options: StageOptions) {
    const { folder, root } = options;
    this.clone = join(folder, 'clone');
    cpSync(root, this.clone, {
      recursive: true,
      filter: (path) => path === root || !LEFT_BEHIND.test(path.slice(root.length + 1)),
    });
    // What `npm ci` makes of the lock file; that it does is shown wherever this repository is tested from a clone.
    symlinkSync(join(root, 'node_modules'), join(this.clone, 'node_modules'), 'junction');
    this.env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !NOT_A_READERS.test(name))),
      PATH: [this.makeStandIns(), dirname(process.execPath), process.env['PATH']].join(delimiter),
    };
    for (const path of SERVER_FOLDERS) this.readFolder(path);
  }

  /** Ports that are taken here are read as free ones, and that is said. */
  async avoidTakenPorts(): Promise<void> {
    for (const port of this.options.ports) {
      if (await isFree(port)) continue;
      const other = await quietPort();
      this.options.say(`port ${port} is taken on this machine: the pages are read with ${other}`);
      this.rewrites.push({ from: new RegExp(`\\b${port}\\b`, 'g'), to: String(other) });
      if (port === 8080) this.env['PORT'] = String(other);
    }
  }

  private readFolder(path: string): void {
    const to = path === '/opt/pedigree' ? this.clone : join(this.options.folder, 'server', path);
    mkdirSync(to, { recursive: true });
    this.rewrites.push({ from: new RegExp(`(?<![\\w.])${path}`, 'g'), to });
  }

  private makeStandIns(): string {
    const bin = join(this.options.folder, 'bin');
    mkdirSync(bin, { recursive: true });
    const put = (name: string, line: string): void => {
      writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`);
      chmodSync(join(bin, name), 0o755);
    };
    for (const [name, file] of Object.entries(STAND_INS))
      put(name, `exec "${process.execPath}" "${join(this.options.root, 'test/soak/stand-ins', file)}" "$@"`);
    for (const name of NOTHING) put(name, `echo "${name}: nothing to do here"`);
    put('runuser', 'while [ "$1" != -- ]; do shift; done\nshift\nexec "$@"');
    return bin;
  }

  /** A text as this machine means it, with these words of it replaced by what a reader has seen. */
  read(text: string, words: Record<string, string> = {}): string {
    const entries = Object.entries(words);
    const token = (at: number): string => `\u0001${at}\u0001`;
    const marked = entries.reduce(
      (read, [word], at) =>
        /^[A-Z_]+$/.test(word)
          ? read.replace(new RegExp(`\\b${word}\\b`, 'g'), token(at))
          : read.replaceAll(word, token(at)),
      text,
    );
    const meant = this.rewrites.reduce((read, { from, to }) => read.replace(from, () => to), marked);
    return entries.reduce((read, [, value], at) => read.replaceAll(token(at), () => value), meant);
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.clone, file), this.read(text));
  }

  /** Begins another page at a new terminal. */
  async openShell(): Promise<void> {
    await this.shell?.stop();
    this.shell = new Shell(this.place());
  }

  private place(): { cwd: string; env: NodeJS.ProcessEnv; folder: string } {
    return { cwd: this.clone, env: this.env, folder: this.options.folder };
  }

  /** Before a reader looks again. */
  pause(): Promise<void> {
    return systemClock.wait(AGAIN_MS);
  }

  /** Types what `read` has given. */
  async type(text: string, limitMs: number): Promise<Said> {
    if (this.shell === undefined) throw new Error('no terminal is open');
    const said = await this.shell.type(text, limitMs);
    this.said = said.output.trim();
    return said;
  }

  async startTerminal(
    text: string,
    { name = `terminal-${(this.blocks += 1)}`, replaces }: { name?: string | undefined; replaces?: string | undefined },
  ): Promise<Terminal> {
    if (replaces !== undefined) await this.terminals.get(replaces)?.stop();
    const terminal = new Terminal(text, this.place());
    this.terminals.set(name, terminal);
    return terminal;
  }

  async stopTerminals(): Promise<void> {
    await Promise.all([...this.terminals.values()].map((one) => one.stop()));
    this.terminals.clear();
  }

  async startServices(): Promise<void> {
    const { folder, root } = this.options;
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), durable: false });
    this.stops.push(() => postgres.stop());
    this.rewrites.push({ from: /127\.0\.0\.1:5432/g, to: new URL(postgres.url).host });
    Object.assign(this.env, {
      SOAK_POSTGRES_URL: await asUsualServer(postgres.url),
      SOAK_UNITS: join(folder, 'server/etc/systemd/system'),
    });
    const sandbox = await this.startTerminal(
      `exec node '${root}/dist/apps/sandbox/src/main.js' --misbehave 0 --counterparties off`,
      { name: 'registry' },
    );
    if (!(await sandbox.says('controlUrl', START_LIMIT_MS)))
      throw new Error(`the sandbox did not start: ${sandbox.output}`);
    this.registryUrl = (JSON.parse(sandbox.output.split('\n')[0] ?? '') as { url: string }).url;
    this.stops.push(
      async () =>
        void (await this.shell?.type(
          'systemctl stop pedigree@gateway pedigree@worker pedigree@auditor pedigree@reconciler',
          START_LIMIT_MS,
        )),
    );
  }

  async deadLetter(): Promise<string> {
    const settings = readFileSync(join(this.options.folder, 'server/etc/pedigree/pedigree.env'), 'utf8');
    const pool = openPool({ connectionString: /^DATABASE_URL=(.*)$/m.exec(settings)?.[1] ?? '' });
    const bus = new PostgresBus({ pool });
    await bus.publishCommands([{ body: Buffer.from('{"command_id":') }]);
    await bus.close();
    await pool.end();
    for (let waitedMs = 0; waitedMs < ASK_LIMIT_MS; waitedMs += 500) {
      const { items } = (await this.ask('/v1/operations/dead-letters')) as { items: { id: string }[] };
      if (items[0] !== undefined) return items[0].id;
      await systemClock.wait(500);
    }
    throw new Error('no dead letter came');
  }

  async ask(path: string, body?: object): Promise<unknown> {
    const data = body === undefined ? '' : ` -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
    const { status, output } = (await this.shell?.type(
      this.read(
        `curl -sS --fail-with-body -H "authorization: Bearer $PEDIGREE_API_KEY" '127.0.0.1:8080${path}'${data}`,
      ),
      ASK_LIMIT_MS,
    )) ?? { status: 1, output: '' };
    if (status !== 0) throw new Error(`${path}: ${output}`);
    return JSON.parse(output) as unknown;
  }

  async stop(): Promise<void> {
    for (const stop of this.stops.splice(0).reverse())
      await stop().catch((error: Error) => this.options.say(error.message));
    await this.shell?.stop();
    await this.stopTerminals();
  }
}

/**
 * The embedded server's superuser is called as the page calls its own user. Returns the address for one that is called
 * `postgres`.
 */
async function asUsualServer(url: string): Promise<string> {
  const usual = new URL(url);
  const { username, password } = usual;
  usual.username = 'postgres';
  for (const [connectionString, sql] of [
    [url, `CREATE ROLE postgres SUPERUSER LOGIN PASSWORD '${decodeURIComponent(password)}'`],
    [usual.href, `ALTER ROLE "${username}" RENAME TO installer`],
  ] as const) {
    const pool = openPool({ connectionString });
    await pool.query(sql);
    await pool.end();
  }
  return usual.href;
}
