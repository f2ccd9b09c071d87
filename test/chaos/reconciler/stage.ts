import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sandboxFile } from '../../../apps/cli/src/config.js';
import { allSchemas } from '../../../apps/cli/src/schemas.js';
import { sandboxProcess, type SandboxProcess } from '../../../apps/cli/src/stack/sandbox-process.js';
import { stockRunId } from '../../../apps/reconciler/src/run-of-file.js';
import { PostgresEventStore } from '#event-store';
import { installationId } from '#postgres';
import { readSchedule, runsFolder, snapshotsFolder } from '#reconciliation';
import { repositoryFile } from '../../scenarios/built-programs.js';
import { testDatabase, type TestDatabase } from '../../support/database.js';
import { askControl } from '../../support/sandbox-control.js';
import { temporaryFolder, type TemporaryFolder } from '../../support/temporary-folder.js';
import { until } from '../../support/until.js';
import { CampaignLog } from '../campaign-log.js';
import { quietPort } from '../services/ports.js';
import { Program, type Death } from '../services/program.js';
import { MAPPING } from './stock-files.js';

export const ACCOUNT = 'main';
/** So that a fetch has pages to be killed between. */
const PAGE = 20;
const WAITS = { statusAfterSendMs: 300, receiptAfterStatusMs: 300, statusPollMs: 300, receiptPollMs: 300 };
/** All processes share one machine: what they are late by is not the client's bad manners. */
const GUARD_MS = 100;
const REPLAY_LIMIT_MS = 120_000;

type App = 'gateway' | 'worker' | 'reconciler';

/** Gateway, worker and reconciler as processes of their own, over a database and a registry of their own. */
export class Stage {
  readonly deaths: Death[] = [];
  readonly programs: Record<App, Program>;
  readonly log: CampaignLog;

  private constructor(
    readonly db: TestDatabase,
    readonly place: TemporaryFolder,
    private readonly sandbox: SandboxProcess,
    private readonly options: { gatewayPort: number; way: string; installation: string },
  ) {
    this.log = new CampaignLog(new PostgresEventStore({ pool: db.pool }));
    const program = (name: App): Program =>
      new Program({
        ...{ name, args: [repositoryFile(`dist/apps/${name}/src/main.js`)] },
        ...{ env: this.environment, logFile: this.path(`${name}.log`), died: (death) => void this.deaths.push(death) },
      });
    this.programs = { gateway: program('gateway'), worker: program('worker'), reconciler: program('reconciler') };
  }

  /** Starts all of it. `way`: how the registry is read. */
  static async open({ seed, way }: { seed: number; way: string }): Promise<Stage> {
    const [db, place] = await Promise.all([testDatabase(allSchemas()), temporaryFolder()]);
    const registryOverrides = join(place.path, 'registry.json');
    writeFileSync(registryOverrides, JSON.stringify({ rules: WAITS }));
    const sandbox = await sandboxProcess({
      ...{ dataDir: join(place.path, 'registry'), profile: 'interface-v1', profileOverrides: registryOverrides },
      flags: ['--seed', String(seed), '--misbehave', '0', '--counterparties', 'off', '--processing-ms', '300'],
    });
    const options = { gatewayPort: await quietPort(), way, installation: await installationId(db.pool) };
    const stage = new Stage(db, place, sandbox, options);
    stage.writeFiles();
    for (const one of Object.values(stage.programs)) one.start();
    return stage;
  }

  get url(): string {
    return `http://127.0.0.1:${this.options.gatewayPort}`;
  }

  /** Folder of derived files. */
  get files(): string {
    return this.path('segments');
  }

  folderOf(runId: string): string {
    return join(runsFolder(this.files), runId);
  }

  /** The ERP writes a stock file, true at this moment. Returns the id that its run has. */
  put(name: string, content: string, moment: Date): string {
    const part = this.path(join('stock', `${name}.part`));
    writeFileSync(part, content);
    utimesSync(part, moment, moment);
    renameSync(part, this.path(join('stock', name)));
    const sha256 = createHash('sha256').update(content).digest('hex');
    return stockRunId(this.options.installation, { name, sha256 });
  }

  /** Asks the gateway, again and again until it takes it. */
  async post(path: string, body: object): Promise<{ id: string }> {
    let taken: { id: string } | undefined;
    await until(`the gateway takes ${path}`, async () => {
      const answer = await fetch(`${this.url}${path}`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
      }).catch(() => undefined);
      if (answer?.ok === true) taken = (await answer.json()) as { id: string };
      return taken !== undefined;
    });
    return taken as { id: string };
  }

  control<T>(path: string, body?: object): Promise<T> {
    return askControl(this.sandbox.controlUrl, path, body);
  }

  hasEnded(runId: string): boolean {
    return (readSchedule(this.folderOf(runId))?.ended ?? null) !== null;
  }

  /** Names of runs that have a folder, and of snapshots. */
  names(of: 'runs' | 'snapshots'): string[] {
    const folder = of === 'runs' ? runsFolder(this.files) : snapshotsFolder(this.files);
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  /** What `pedigree reconcile --replay` says of a run. */
  async replay(runId: string): Promise<string> {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [repositoryFile('dist/apps/cli/src/main.js'), 'reconcile', '--replay', runId],
      { env: { ...this.environment, DATA_DIR: this.path('data') }, timeout: REPLAY_LIMIT_MS },
    ).catch((error: Error & { stdout?: string; stderr?: string }) => ({
      stdout: `${error.message} ${error.stdout ?? ''} ${error.stderr ?? ''}`,
    }));
    return stdout.trim();
  }

  /** What is checked stands still. One that was just started could not end in order yet. */
  async stop(): Promise<void> {
    for (const one of Object.values(this.programs)) await one.kill();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.sandbox.stop();
    await this.log.store.close();
    await this.db.drop();
    await this.place.remove();
  }

  private path(name: string): string {
    return join(this.place.path, name);
  }

  private writeFiles(): void {
    mkdirSync(this.path('stock'));
    const operations = Object.fromEntries(
      ['sgtins', 'sgtins_by_list', 'archived_sgtins_by_list'].map((name) => [name, { pageSize: PAGE }]),
    );
    writeFileSync(this.path('overrides.json'), JSON.stringify({ rules: { ...WAITS, guardMs: GUARD_MS }, operations }));
    writeFileSync(this.path('mapping.json'), JSON.stringify(MAPPING));
    writeFileSync(this.path('key'), 'ab'.repeat(32), { mode: 0o600 });
  }

  private get environment(): NodeJS.ProcessEnv {
    return {
      PATH: process.env['PATH'],
      DATABASE_URL: this.db.url,
      LOG_LEVEL: 'info',
      PORT: String(this.options.gatewayPort),
      REGISTRY_URL: this.sandbox.url,
      REGISTRY_PROFILE_OVERRIDES: this.path('overrides.json'),
      PEDIGREE_KEY_FILE: this.path('key'),
      PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')),
      PEDIGREE_SUSPENDED_LIST_MINUTES: 'off',
      SEGMENTS_DIR: this.files,
      SEGMENTS_MEMORY_MB: '200',
      SEGMENTS_THREADS: '1',
      // Comparisons of documents are those of the large campaign.
      RECONCILE_DOCUMENTS_CRON: '0 0 29 2 *',
      RECONCILE_STOCK_FOLDER: this.path('stock'),
      RECONCILE_STOCK_MAPPING: this.path('mapping.json'),
      RECONCILE_STOCK_ACCOUNT: ACCOUNT,
      RECONCILE_STOCK_WAY: this.options.way,
      RECONCILE_STOCK_SETTLED_SECONDS: '1',
    };
  }
}
