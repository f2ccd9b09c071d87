import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { until } from '../../../test/support/until.js';
import { PostgresEventStore, type EventMetadata, type NewEvent } from '#event-store';
import { newSigningKey, noteSigner, openNote, parseCheckpoint, parseVerifierKey, verifierKeyOf } from '#merkle';
import { migrate } from '#postgres';
import { Health, HttpPort } from '#service';
import { catchUp, dropCheckpoint } from '#subscriptions';
import { auditorLog, auditorSchemas, startAuditor } from './auditor.js';
import { auditorConfig } from './config.js';
import { newestCheckpoint, signCheckpoint } from './log/checkpoints.js';
import { seal, sealedSize } from './log/seal.js';
import { parseBundle } from './proof/bundle.js';
import { proveStream } from './proof/prove.js';
import { verifyBundle } from './proof/verify.js';
import { auditorProgram } from './program.js';

const ORIGIN = 'pedigree.example/log';
const signer = noteSigner(ORIGIN, newSigningKey());
const VERIFIER_KEY = verifierKeyOf(signer);

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.pool, auditorSchemas);
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

describe('the Merkle log of events', () => {
  it('proves each event of a stream to a stranger who has the file and the key', async () => {
    await written(20);
    const stream = await written(3);
    await written(5);
    await sealAll();
    await signCheckpoint(db.pool, signer);
    const file = JSON.stringify(await proveStream(db.pool, store, stream));
    const verified = verifyBundle(parseBundle(file), VERIFIER_KEY);
    expect(verified.events.map(({ stream: of, type }) => [of, type])).toEqual(
      Array.from({ length: 3 }, () => [stream, 'ThingHappened']),
    );
    expect(verified.checkpoint).toMatchObject({ origin: ORIGIN, size: await sealedSize(db.pool) });
    expect(JSON.parse(parseBundle(file).events[1]?.event ?? '')).toMatchObject({
      version: 1,
      data: { n: 1, text: 'ü € "quoted"' },
    });
  });

  it('is not believed when an event, its place, its path, the checkpoint or the key is another', async () => {
    const stream = await written(2);
    await sealAll();
    await signCheckpoint(db.pool, signer);
    const bundle = await proveStream(db.pool, store, stream);
    const changed = (change: (copy: typeof bundle) => void): typeof bundle => {
      const copy = structuredClone(bundle);
      change(copy);
      return copy;
    };
    const first = (of: typeof bundle): (typeof bundle.events)[number] => of.events[0] as (typeof bundle.events)[number];
    const wrong: [typeof bundle, RegExp][] = [
      [
        changed((copy) => (first(copy).event = first(copy).event.replace('"n":0', '"n":1'))),
        /\/events\/0: is not the leaf/,
      ],
      [changed((copy) => (first(copy).leaf += 1)), /\/events\/0: is not the leaf/],
      [changed((copy) => first(copy).path.reverse()), /\/events\/0: is not the leaf/],
      [
        changed((copy) => (copy.checkpoint = copy.checkpoint.replace(/\n\d+\n/, '\n7\n'))),
        /\/checkpoint: the signature/,
      ],
    ];
    for (const [one, why] of wrong) expect(() => verifyBundle(one, VERIFIER_KEY)).toThrow(why);
    expect(() => verifyBundle(bundle, verifierKeyOf(noteSigner(ORIGIN, newSigningKey())))).toThrow(
      /\/checkpoint: the note carries no signature/,
    );
    expect(() => parseBundle('{"format":"other"}')).toThrow(/^\/format/);
    expect(() => parseBundle('no')).toThrow(/not JSON/);
  });

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
      expect((await signCheckpoint(own.pool, next, [VERIFIER_KEY]))?.size).toBe(2);
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
