import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { auditorSchemas } from '../../../apps/auditor/src/auditor.js';
import { originAfter } from '#proofs';
import { PostgresEventStore, type NewEvent } from '#event-store';
import { newSigningKey, noteSigner, verifierKeyOf, witnessKeyOf, type NoteSigner } from '#merkle';
import { repositoryFile } from '../../scenarios/built-programs.js';
import { testDatabase, type TestDatabase } from '../../support/database.js';
import { madeEvent } from '../../support/made-event.js';
import { temporaryFolder, type TemporaryFolder } from '../../support/temporary-folder.js';
import { quietPort } from '../services/ports.js';
import { Program, type Death } from '../services/program.js';

const ORIGIN = 'pedigree.example/log';
const WITNESS = 'witness.example/one';
const COPIED = ['event', 'event_counter', 'event_any', 'checkpoint', 'audit_tree', 'audit_tile', 'audit_page'];
const COPIED_TOO = ['audit_checkpoint', 'audit_break', 'audit_cosignature', 'audit_count', 'audit_count_bucket'];
const TABLES = [...COPIED, ...COPIED_TOO];

/** An auditor as a process of its own, on a database of its own; and where it is asked for, a witness. */
export class Stage {
  readonly deaths: Death[] = [];
  readonly auditor: Program;
  readonly witness: Program | undefined;

  private constructor(
    readonly db: TestDatabase,
    readonly store: PostgresEventStore,
    readonly place: TemporaryFolder,
    readonly signer: NoteSigner,
    private readonly ports: { health: number; witness: number; witnessHealth: number },
    private readonly witnessSigner: NoteSigner | undefined,
  ) {
    const died = (death: Death): void => void this.deaths.push(death);
    this.auditor = new Program({ ...this.programOf('auditor'), env: this.environment, died });
    this.witness =
      witnessSigner === undefined
        ? undefined
        : new Program({ ...this.programOf('witness'), env: this.witnessEnvironment, died });
  }

  static async open({ hasWitness }: { hasWitness: boolean }): Promise<Stage> {
    const [db, place] = await Promise.all([testDatabase(auditorSchemas), temporaryFolder()]);
    const [key, witnessKey] = [newSigningKey(), newSigningKey()];
    for (const folder of ['auditor', 'witness']) mkdirSync(join(place.path, folder));
    writeFileSync(join(place.path, 'key.pem'), key, { mode: 0o600 });
    writeFileSync(join(place.path, 'witness', 'key.pem'), witnessKey, { mode: 0o600 });
    const ports = { health: await quietPort(), witness: await quietPort(), witnessHealth: await quietPort() };
    const witness = hasWitness ? noteSigner(WITNESS, witnessKey) : undefined;
    const store = new PostgresEventStore({ pool: db.pool });
    return new Stage(db, store, place, noteSigner(ORIGIN, key), ports, witness);
  }

  get folder(): string {
    return join(this.place.path, 'auditor');
  }

  async append(events: number): Promise<void> {
    await this.store.append(
      `thing-${randomUUID()}`,
      'none',
      Array.from({ length: events }, (_, n) => eventOf(n)),
    );
  }

  /** What the health of the auditor says of a part: undefined where all is well, or where it does not answer. */
  async down(part: string): Promise<string | undefined> {
    const answer = await fetch(`http://127.0.0.1:${this.ports.health}/health/ready`).catch(() => undefined);
    if (answer === undefined) return undefined;
    const { parts } = (await answer.json()) as { parts: { name: string; status: string; error?: string }[] };
    const found = parts.find(({ name, status }) => name === part && status === 'down');
    return found === undefined ? undefined : (found.error ?? 'down');
  }

  /** Copies the folder and the tables, as a backup does. The auditor must not run. */
  async keep(name: string): Promise<void> {
    cpSync(this.folder, join(this.place.path, name), { recursive: true });
    await this.sql([
      `CREATE SCHEMA ${name}`,
      ...TABLES.map((table) => `CREATE TABLE ${name}.${table} AS TABLE public.${table}`),
    ]);
  }

  putFolderBack(name: string): void {
    this.loseFolder();
    cpSync(join(this.place.path, name), this.folder, { recursive: true });
  }

  loseFolder(): void {
    // One that was killed at its start may not have made it again.
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** `only`: without the log itself. */
  async putTablesBack(name: string, only = TABLES): Promise<void> {
    await this.sql(only.flatMap((one) => [`TRUNCATE ${one}`, `INSERT INTO ${one} SELECT * FROM ${name}.${one}`]));
  }

  async putSealedBack(name: string): Promise<void> {
    await this.putTablesBack(
      name,
      TABLES.filter((one) => one === 'checkpoint' || one.startsWith('audit_')),
    );
  }

  /** A person types it. Returns what it printed. */
  async tellBreak(reason: string): Promise<string> {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [repositoryFile('apps/cli/bin/pedigree.mjs'), 'audit', 'break', '--reason', reason],
      { env: { ...this.environment, DATA_DIR: this.place.path }, timeout: 60_000 },
    );
    return stdout;
  }

  /** Its operator adds the name that the log has after so many breaks. */
  async witnessAgain(breaks: number): Promise<void> {
    if (this.witness === undefined) return;
    await this.witness.kill();
    this.witnessEnvironment['WITNESS_LOGS'] = Array.from({ length: breaks + 1 }, (_, n) =>
      verifierKeyOf({ ...this.signer, name: originAfter(ORIGIN, n) }),
    ).join(',');
    this.witness.start();
  }

  async close(): Promise<void> {
    await this.auditor.kill();
    await this.witness?.kill();
    await this.store.close();
    await this.db.drop();
    await this.place.remove();
  }

  private async sql(statements: string[]): Promise<void> {
    await this.db.pool.query(`BEGIN; ${statements.join('; ')}; COMMIT`);
  }

  private programOf(app: 'auditor' | 'witness'): { name: string; args: string[]; logFile: string } {
    const main = repositoryFile(`dist/apps/${app}/src/main.js`);
    return { name: app, args: ['--enable-source-maps', main], logFile: join(this.place.path, `${app}.log`) };
  }

  private get environment(): NodeJS.ProcessEnv {
    const witnesses =
      this.witnessSigner === undefined
        ? {}
        : { AUDIT_WITNESSES: `${witnessKeyOf(this.witnessSigner)} http://127.0.0.1:${this.ports.witness}` };
    return {
      PATH: process.env['PATH'],
      DATABASE_URL: this.db.url,
      AUDIT_FOLDER: this.folder,
      AUDIT_KEY_FILE: join(this.place.path, 'key.pem'),
      AUDIT_ORIGIN: ORIGIN,
      AUDIT_CHECKPOINT_SECONDS: '1',
      AUDIT_SWEEP_HOURS: '0',
      HEALTH_PORT: String(this.ports.health),
      LOG_LEVEL: 'warn',
      ...witnesses,
    };
  }

  private witnessVariables: NodeJS.ProcessEnv | undefined;

  /** The same object each time: the program reads it at each start. */
  private get witnessEnvironment(): NodeJS.ProcessEnv {
    return (this.witnessVariables ??= {
      PATH: process.env['PATH'],
      WITNESS_NAME: WITNESS,
      WITNESS_FOLDER: join(this.place.path, 'witness'),
      WITNESS_LOGS: verifierKeyOf(this.signer),
      PORT: String(this.ports.witness),
      HEALTH_PORT: String(this.ports.witnessHealth),
      LOG_LEVEL: 'warn',
    });
  }
}

const eventOf = (n: number): NewEvent => madeEvent('ThingHappened', { n });
