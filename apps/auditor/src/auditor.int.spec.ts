import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { firing } from '../../../test/support/alert-rules.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { until } from '../../../test/support/until.js';
import { PostgresEventStore, type EventMetadata, type NewEvent } from '#event-store';
import { newSigningKey, noteSigner, openNote, parseCheckpoint, parseVerifierKey, verifierKeyOf } from '#merkle';
import { migrate } from '#postgres';
import { Health, HttpPort, programProcesses, runProgram, thisProcess, type Readiness } from '#service';
import { catchUp, dropCheckpoint } from '#subscriptions';
import { newestCheckpoint, sealedSize } from '#sealed-log';
import { auditorLog, auditorSchemas, startAuditor } from './auditor.js';
import { auditorConfig } from './config.js';
import { provenLines, verifyLines } from '../test/proofs.js';
import { signCheckpoint } from './log/checkpoints.js';
import { seal } from './log/seal.js';
import { HistoryWatch } from './memory/history-watch.js';
import { auditorProgram } from './program.js';

const ORIGIN = 'pedigree.example/log';
const signer = noteSigner(ORIGIN, newSigningKey());
const VERIFIER_KEY = verifierKeyOf(signer);

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase(auditorSchemas);
  store = new PostgresEventStore({ pool: db.pool });
});
afterAll(async () => {
  await store?.close();
  await db?.drop();
});

const metadata: EventMetadata = {
  participant: 'own',
  actor: { kind: 'system' as const, name: 'test', authenticatedBy: 'process' },
  softwareVersion: '1',
  profile: 'interface-v1',
  effectiveAt: '2026-01-15T09:00:00.000Z',
  correlationId: 'c',
  causationId: 'd',
};
const event = (n: number): NewEvent => ({
  id: randomUUID(),
  type: 'ThingHappened',
  schemaVersion: 1,
  data: { n, text: 'ü € "quoted"' },
  metadata,
});

/** A stream of its own with so many events. */
async function written(count: number): Promise<string> {
  const stream = `thing-${randomUUID()}`;
  await store.append(
    stream,
    'none',
    Array.from({ length: count }, (_, n) => event(n)),
  );
  return stream;
}
const sealAll = (batchSize = 7): Promise<bigint> =>
  catchUp({ store, pool: db.pool, name: 'auditor', handle: seal, batchSize });

const environmentOf = ({ url }: TestDatabase, { keyFile, memory }: { keyFile: string; memory: string }) => ({
  DATABASE_URL: url,
  AUDIT_KEY_FILE: keyFile,
  AUDIT_FOLDER: memory,
  AUDIT_ORIGIN: ORIGIN,
  AUDIT_CHECKPOINT_SECONDS: '1',
  LOG_LEVEL: 'silent',
});

/** An event is changed, and all that the database knows of the tree is forgotten. */
const FORGERY = `UPDATE event SET data = convert_to('{"n":7}', 'UTF8') WHERE stream = 'thing-1' AND version = 1;
  TRUNCATE audit_tree, audit_tile, audit_page, audit_checkpoint;
  DELETE FROM checkpoint WHERE name = 'auditor'`;

/** Runs the program behind its port, as it runs in a process of its own. */
async function whileItRuns(env: NodeJS.ProcessEnv, look: (healthUrl: string) => Promise<void>): Promise<void> {
  const lines: string[] = [];
  let interrupt: (signal: NodeJS.Signals) => void = () => undefined;
  const running = runProgram(() => auditorProgram(auditorConfig(env)), {
    ...thisProcess,
    onSignal: (on) => {
      interrupt = on;
      return () => undefined;
    },
    out: (line) => lines.push(line),
    exit: () => undefined,
  });
  try {
    await until('its port is open', () => lines.length > 0);
    await look((JSON.parse(lines[0] ?? '') as { healthUrl: string }).healthUrl);
  } finally {
    interrupt('SIGTERM');
    expect(await running).toBe(0);
  }
}

describe('the Merkle log of events', () => {
  it('has the same tree however the pages fell, and goes on after a crash between pages', async () => {
    await written(40);
    await sealAll(3);
    const { rows } = await db.pool.query('SELECT level, index, hashes FROM audit_tile ORDER BY level, index');
    await db.pool.query('TRUNCATE audit_tree, audit_tile, audit_page');
    await dropCheckpoint(db.pool, 'auditor');
    let pages = 0;
    const dying = catchUp({
      store,
      pool: db.pool,
      name: 'auditor',
      batchSize: 11,
      handle: async (events, tx) => {
        await seal(events, tx);
        pages += 1;
        if (pages === 3) throw new Error('the process dies here');
      },
    });
    await expect(dying).rejects.toThrow('dies here');
    await sealAll(500);
    expect((await db.pool.query('SELECT level, index, hashes FROM audit_tile ORDER BY level, index')).rows).toEqual(
      rows,
    );
    expect(BigInt(await sealedSize(db.pool))).toBe(await store.head());
  });

  it('signs no tree that does not begin with what was signed before, and says so', async () => {
    await written(4);
    await sealAll();
    const before = await signCheckpoint(db.pool, signer);
    expect(await signCheckpoint(db.pool, signer)).toBeUndefined();
    await db.pool.query(
      `UPDATE audit_tile SET hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 255) WHERE level = 0 AND index = 0`,
    );
    await written(1);
    await sealAll();
    await expect(signCheckpoint(db.pool, signer)).rejects.toThrow(/changed after it was signed/);
    expect(await newestCheckpoint(db.pool)).toEqual(before);
  });
});

describe('a new signing key', () => {
  it('goes on where the old one ended, when the old one is named, and not otherwise', async () => {
    const own = await testDatabase();
    const log = new PostgresEventStore({ pool: own.pool });
    try {
      await migrate(own.pool, auditorSchemas);
      const sealed = async (): Promise<void> => {
        await log.append(`thing-${randomUUID()}`, 'none', [event(0)]);
        await catchUp({ store: log, pool: own.pool, name: 'auditor', handle: seal });
      };
      await sealed();
      await signCheckpoint(own.pool, signer);
      await sealed();
      const next = noteSigner(ORIGIN, newSigningKey());
      await expect(signCheckpoint(own.pool, next)).rejects.toThrow(/no signature of/);
      expect((await signCheckpoint(own.pool, next, { trusted: [VERIFIER_KEY] }))?.size).toBe(2);
    } finally {
      await log.close();
      await own.drop();
    }
  });
});

describe('the auditor as a program', () => {
  it('seals and signs what is written, and leaves nothing unsigned at its end', async () => {
    const own = await testDatabase();
    const folder = await temporaryFolder();
    const keyFile = join(folder.path, 'key.pem');
    writeFileSync(keyFile, newSigningKey());
    const config = auditorConfig({
      DATABASE_URL: own.url,
      AUDIT_KEY_FILE: keyFile,
      AUDIT_ORIGIN: ORIGIN,
      AUDIT_CHECKPOINT_SECONDS: '3600',
      LOG_LEVEL: 'silent',
    });
    const auditor = await startAuditor(config);
    const log = new PostgresEventStore({ pool: own.pool });
    try {
      await log.append('thing-1', 'none', [event(0), event(1)]);
      // Its own settings stand before them in the log.
      const written = Number(await log.head());
      expect(written).toBeGreaterThan(2);
      while ((await sealedSize(own.pool)) < written) await new Promise(setImmediate);
      await auditor.stop();
      const checkpoint = await newestCheckpoint(own.pool);
      const { privateKey } = noteSigner(ORIGIN, readFileSync(keyFile, 'utf8'));
      expect(
        parseCheckpoint(
          openNote(checkpoint?.note ?? '', parseVerifierKey(verifierKeyOf({ name: ORIGIN, privateKey }))),
        ),
      ).toMatchObject({ origin: ORIGIN, size: written });
    } finally {
      await log.close();
      await own.drop();
      await folder.remove();
    }
  });

  it('looks at the log before it seals anything behind what is there', async () => {
    const own = await testDatabase(auditorSchemas);
    const folder = await temporaryFolder();
    const keyFile = join(folder.path, 'key.pem');
    writeFileSync(keyFile, newSigningKey());
    const first: string[] = [];
    const { look } = HistoryWatch.prototype;
    jest.spyOn(HistoryWatch.prototype, 'look').mockImplementation(async function (this: HistoryWatch) {
      // A page would be sealed meanwhile, many times over.
      for (let n = 0; first.length === 0 && n < 100; n += 1) if ((await sealedSize(own.pool)) > 0) first.push('sealed');
      first.push('looked');
      return look.call(this);
    });
    const auditor = await startAuditor(auditorConfig(environmentOf(own, { keyFile, memory: join(folder.path, 'm') })));
    try {
      await until('its settings are sealed', async () => (await sealedSize(own.pool)) > 0);
      expect(first[0]).toBe('looked');
    } finally {
      await auditor.stop();
      jest.restoreAllMocks();
      await own.drop();
      await folder.remove();
    }
  });

  it('counts the events of each stream by itself, and says when it cannot', async () => {
    const own = await testDatabase();
    const folder = await temporaryFolder();
    const keyFile = join(folder.path, 'key.pem');
    writeFileSync(keyFile, newSigningKey());
    const key = verifierKeyOf(noteSigner(ORIGIN, readFileSync(keyFile, 'utf8')));
    const auditor = await startAuditor(auditorConfig(environmentOf(own, { keyFile, memory: join(folder.path, 'm') })));
    const log = new PostgresEventStore({ pool: own.pool });
    const whole = async (): Promise<number | undefined> => {
      const { streams } = await verifyLines(await provenLines(own.pool, log, 'thing-1'), key);
      return streams[0]?.whole?.events;
    };
    try {
      await log.append('thing-1', 'none', [event(0), event(1)]);
      await until('they are signed', async () => (await newestCheckpoint(own.pool))?.size === Number(await log.head()));
      await until('they are counted', async () => (await whole()) === 2);
      await own.pool.query(`UPDATE audit_count_bucket SET hash = sha256('other')`);
      await log.append('thing-1', 1, [event(2)]);
      await until('it says so', () => auditor.troubles().some(({ name }) => name === 'stream counts'));
      expect(auditor.troubles()[0]?.reason).toMatch(
        /^the events of each stream are not counted: the table audit_count_bucket was changed/,
      );
      await own.pool.query('TRUNCATE audit_count, audit_count_bucket');
      await until('it counts anew', async () => auditor.troubles().length === 0 && (await whole()) === 3);
    } finally {
      await auditor.stop();
      await log.close();
      await own.drop();
      await folder.remove();
    }
  }, 60_000);

  it('shows in its health that it halted, and on what', async () => {
    const own = await testDatabase();
    const folder = await temporaryFolder();
    const keyFile = join(folder.path, 'key.pem');
    writeFileSync(keyFile, newSigningKey());
    await migrate(own.pool, auditorSchemas);
    await own.pool.query(`ALTER TABLE checkpoint ADD CONSTRAINT refused CHECK (name <> 'auditor' OR position = 0)`);
    const config = auditorConfig({
      DATABASE_URL: own.url,
      AUDIT_KEY_FILE: keyFile,
      AUDIT_ORIGIN: ORIGIN,
      LOG_LEVEL: 'silent',
    });
    const health = new Health('auditor');
    health.phase = 'running';
    const port = await HttpPort.open({ port: 0, host: '127.0.0.1', health });
    const auditor = await auditorProgram(config).start({ log: auditorLog(config), health, healthPort: port });
    try {
      expect(health.readiness().status).toBe('ready');
      await until('it halts', () => health.readiness().status === 'degraded');
      expect(health.readiness().degraded).toMatchObject([
        {
          name: 'subscription auditor',
          reason: expect.stringMatching(
            /^failed 8 times in a row, last at position.* violates check constraint "refused"/,
          ),
        },
      ]);
    } finally {
      await auditor.stop();
      await port.drain(0);
      await own.drop();
      await folder.remove();
    }
  });

  it('shows in its health that it signs no checkpoint, and why', async () => {
    const own = await testDatabase();
    const folder = await temporaryFolder();
    const keyFile = join(folder.path, 'key.pem');
    writeFileSync(keyFile, newSigningKey());
    await migrate(own.pool, auditorSchemas);
    await own.pool.query('ALTER TABLE audit_checkpoint ADD CONSTRAINT refused CHECK (false)');
    const auditor = await startAuditor(
      auditorConfig({
        DATABASE_URL: own.url,
        AUDIT_KEY_FILE: keyFile,
        AUDIT_ORIGIN: ORIGIN,
        LOG_LEVEL: 'silent',
        AUDIT_CHECKPOINT_SECONDS: '1',
      }),
    );
    try {
      expect(auditor.troubles()).toEqual([]);
      await until('it cannot sign', () => auditor.troubles().length > 0);
      expect(auditor.troubles()).toMatchObject([
        { name: 'checkpoint', reason: expect.stringMatching(/^no checkpoint is signed: .*"refused"/) },
      ]);
      await own.pool.query('ALTER TABLE audit_checkpoint DROP CONSTRAINT refused');
      await until('it signs again', () => auditor.troubles().length === 0);
    } finally {
      await auditor.stop();
      await own.drop();
      await folder.remove();
    }
  });

  it('is red, says which leaf and event, and tells it to whoever asks which programs work', async () => {
    const own = await testDatabase();
    const folder = await temporaryFolder();
    const keyFile = join(folder.path, 'key.pem');
    writeFileSync(keyFile, newSigningKey());
    const env = environmentOf(own, { keyFile, memory: join(folder.path, 'memory') });
    const log = new PostgresEventStore({ pool: own.pool });
    try {
      const first = await startAuditor(auditorConfig(env));
      await log.append('thing-1', 'none', [event(0), event(1), event(2)]);
      await until('all is signed', async () => (await newestCheckpoint(own.pool))?.size === Number(await log.head()));
      await first.stop();
      // Its sweep and its counts may have written to the log since.
      const size = (await newestCheckpoint(own.pool))?.size;
      const [, changed] = await log.readStream('thing-1');
      const position = Number(changed?.position);
      await own.pool.query(FORGERY);
      await whileItRuns(env, async (healthUrl) => {
        const readiness = async () => (await fetch(`${healthUrl}/health/ready`)).json() as Promise<Readiness>;
        const red = new RegExp(
          `^the first leaf that differs is ${position - 1}: ThingHappened, version 1 of thing-1, ` +
            `at position ${position}; the Merkle log has 0 leaves, and the auditor has signed ${size}`,
        );
        const historyOf = async () => (await readiness()).parts.find(({ name }) => name === 'signed history');
        await until('the event is named', async () => red.test((await historyOf())?.error ?? ''));
        expect((await fetch(`${healthUrl}/health/ready`)).status).toBe(503);
        expect(await readiness()).toMatchObject({ degraded: [{ name: 'signed history' }] });
        const metrics = await (await fetch(`${healthUrl}/metrics`)).text();
        expect(firing([metrics])).toContain('AuditHistoryContradicted');
        expect(metrics).toMatch(new RegExp(`^pedigree_audit_first_differing_leaf.* ${position - 1}$`, 'm'));
        await until('the others are told', async () =>
          (await programProcesses(own.pool)).some(({ subscriptions: [one] }) => one?.state === 'halted'),
        );
        expect([await sealedSize(own.pool), await newestCheckpoint(own.pool)]).toEqual([0, undefined]);
      });
    } finally {
      await log.close();
      await own.drop();
      await folder.remove();
    }
  });

  it('does not start on a folder that is damaged or cannot be made, and says which', async () => {
    const folder = await temporaryFolder();
    const keyFile = join(folder.path, 'key.pem');
    writeFileSync(keyFile, newSigningKey());
    writeFileSync(join(folder.path, 'memory.json'), '{');
    const started = (place: string) =>
      startAuditor(
        auditorConfig({ DATABASE_URL: db.url, AUDIT_KEY_FILE: keyFile, AUDIT_FOLDER: place, LOG_LEVEL: 'silent' }),
      );
    await expect(started(folder.path)).rejects.toThrow(/^AUDIT_FOLDER: .*memory\.json is damaged \(/);
    await expect(started(join(keyFile, 'below'))).rejects.toThrow(/^AUDIT_FOLDER: the folder of the auditor cannot be/);
    await folder.remove();
  });

  it('says which key file is missing, as wrong configuration', async () => {
    await expect(
      startAuditor(auditorConfig({ DATABASE_URL: db.url, AUDIT_KEY_FILE: '/no/such/key.pem', LOG_LEVEL: 'silent' })),
    ).rejects.toMatchObject({ code: 'invalid_configuration', place: { field: 'AUDIT_KEY_FILE' } });
  });

  it('does not sign with a key that every user of the machine can read', async () => {
    const folder = await temporaryFolder();
    const keyFile = join(folder.path, 'key.pem');
    writeFileSync(keyFile, newSigningKey());
    for (const [path, mode] of [
      [folder.path, 0o755],
      [keyFile, 0o644],
    ] as const)
      chmodSync(path, mode);
    const started = startAuditor(
      auditorConfig({ DATABASE_URL: db.url, AUDIT_KEY_FILE: keyFile, LOG_LEVEL: 'silent' }),
    ).then((auditor) => auditor.stop());
    await expect(started).rejects.toThrow(
      `AUDIT_KEY_FILE: every user of this machine can read or change ${keyFile} (mode 0644)`,
    );
    await folder.remove();
  });

  it.each([
    [{ DATABASE_URL: 'postgres://x/y', AUDIT_KEY_FILE: '/k', AUDIT_PREVIOUS_KEYS: 'nonsense' }, /^AUDIT_PREVIOUS_KEYS/],
    [{ AUDIT_KEY_FILE: '/k' }, /^DATABASE_URL/],
    [{ DATABASE_URL: 'postgres://x/y' }, /^AUDIT_KEY_FILE/],
    [{ DATABASE_URL: 'postgres://x/y', AUDIT_KEY_FILE: '/k', AUDIT_ORIGIN: 'a b' }, /^AUDIT_ORIGIN/],
  ])('names the variable that is wrong: %j', (env, why) => expect(() => auditorConfig(env)).toThrow(why));
});
