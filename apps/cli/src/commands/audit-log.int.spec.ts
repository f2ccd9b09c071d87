import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase } from '../../../../test/support/database.js';
import { walkLog } from '../../../../test/support/log-walker.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { signCheckpoint } from '../../../auditor/src/log/checkpoints.js';
import { seal } from '../../../auditor/src/log/seal.js';
import { arrival, TestHarness } from '../../../gateway/test/test-harness.js';
import { PostgresEventStore } from '#event-store';
import {
  cosign,
  cosignaturesIn,
  newSigningKey,
  noteSigner,
  noteText,
  parseWitnessKey,
  verifierKeyOf,
  witnessKeyOf,
} from '#merkle';
import { migrate } from '#postgres';
import { catchUp } from '#subscriptions';
import { keepCosignature, newestCheckpoint } from '#sealed-log';
import { cliConfig } from '../config.js';
import { exportWholeLog, verifyVisit, visit } from './audit-log.js';
import { newAuditKey, showAuditKey } from './audit.js';
import { proveNamed, verifyProof } from './audit-proof.js';

const signer = noteSigner('pedigree.example/log', newSigningKey());
const KEY = verifierKeyOf(signer);
const witness = noteSigner('witness.example/w1', newSigningKey());
const WITNESS = witnessKeyOf(witness);
const AWAY = witnessKeyOf(noteSigner('witness.example/away', newSigningKey()));

let harness: TestHarness;
let folder: TemporaryFolder;
beforeAll(async () => {
  [harness, folder] = [await TestHarness.start(await testDatabase(TestHarness.schemas)), await temporaryFolder()];
  await migrate(harness.db.pool, auditorSchemas);
});
afterAll(async () => {
  await harness.stop();
  await folder.remove();
});
afterEach(() => {
  jest.restoreAllMocks();
});

const config = () => cliConfig({ DATABASE_URL: harness.db.url });
const fileOf = (name: string): string => join(folder.path, name);

/** What a command prints, and its status. */
async function printed(run: () => Promise<number> | number): Promise<[number, string]> {
  const lines: string[] = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  const status = await run();
  jest.restoreAllMocks();
  return [status, lines.join('')];
}

/** Gives a command, seals and signs; the witness sees it. */
async function signed(commandId: string): Promise<void> {
  await harness.post({ command_id: commandId, reference: commandId, xml: arrival() });
  await harness.run(commandId);
  const { pool } = harness.db;
  const store = new PostgresEventStore({ pool });
  await catchUp({ store, pool, name: 'auditor', handle: seal });
  await store.close();
  await signCheckpoint(pool, signer);
  const newest = await newestCheckpoint(pool);
  const [text, size] = [noteText(newest?.note ?? ''), newest?.size ?? 0];
  const line = cosign(text, witness, new Date('2026-03-01T10:00:00Z'));
  const [cosignature] = cosignaturesIn(`${text}\n${line}`, [parseWitnessKey(WITNESS)]);
  if (cosignature !== undefined) await keepCosignature(pool, { breaks: 0, size }, cosignature);
}

describe('pedigree audit visit', () => {
  it('prints what shows at the next visit that the log only grew, and who has seen it', async () => {
    await signed('one');
    const [, first] = await printed(() => visit(config(), undefined));
    writeFileSync(fileOf('visit-1'), first);
    await signed('two');
    const [, second] = await printed(() => visit(config(), fileOf('visit-1')));
    writeFileSync(fileOf('visit-2'), second);
    const check = (options: object) =>
      printed(() => verifyVisit([fileOf('visit-1'), fileOf('visit-2')], { key: KEY, ...options }));
    expect(await check({})).toEqual([
      0,
      expect.stringMatching(
        /^the log pedigree.example\/log of \d+ events begins with .* it only grew\nno witness was named/,
      ),
    ]);
    expect(await check({ witness: [WITNESS] })).toEqual([0, expect.stringMatching(/w1 saw it at .*that is enough/s)]);
    expect(await check({ witness: [WITNESS, AWAY] })).toEqual([
      1,
      expect.stringMatching(/away has not seen it.*TOO FEW/s),
    ]);
    const [status, json] = await check({ witness: [WITNESS, AWAY], needed: '1', json: true });
    expect([status, JSON.parse(json)]).toEqual([
      0,
      expect.objectContaining({ origin: 'pedigree.example/log', policy_met: true, witnesses_needed: 1 }),
    ]);
  });
});

describe('pedigree audit export', () => {
  it('writes a folder that a stranger can walk, and goes on in it', async () => {
    await signed('three');
    const place = fileOf('exported');
    const run = () => printed(() => exportWholeLog(config(), place));
    expect(await run()).toEqual([
      0,
      expect.stringMatching(/has the log of (\d+) events; \1 of them were written now\n$/),
    ]);
    const walked = await walkLog(async (path) => readFileSync(join(place, path)));
    expect(walked.size).toBe((await newestCheckpoint(harness.db.pool))?.size);
    expect(readFileSync(join(place, 'checkpoint'), 'utf8')).toContain('witness.example/w1');
    expect(await run()).toEqual([0, expect.stringMatching(/; 0 of them were written now\n$/)]);
  });
});

describe('pedigree audit verify with witnesses', () => {
  it('says which have seen the checkpoint, and ends with 1 where too few have', async () => {
    await signed('four');
    const [, proof] = await printed(() => proveNamed(config(), { document: 'four' }));
    writeFileSync(fileOf('proof'), proof);
    const verify = (options: object) => printed(() => verifyProof(fileOf('proof'), { key: KEY, ...options }));
    expect(await verify({ witness: [WITNESS, AWAY], needed: '1' })).toEqual([
      0,
      expect.stringMatching(/1 of 2 witnesses have seen it, and 1 are needed: that is enough\n$/),
    ]);
    expect((await verify({ witness: [WITNESS, AWAY] }))[0]).toBe(1);
    expect(await verify({})).toEqual([0, expect.stringMatching(/no witness was named/)]);
    for (const [options, why] of [
      [{ witness: ['nonsense'] }, /^--witness: this is not a verifier key of a witness/],
      [{ witness: [WITNESS, WITNESS] }, /two witnesses have one name/],
      [{ witness: [WITNESS], needed: '2' }, /^--needed: must be a number from 0 to 1/],
      [{ witness: [WITNESS], needed: 'x' }, /^--needed/],
    ] as const)
      await expect(verify(options)).rejects.toThrow(why);
    jest.restoreAllMocks();
    const [head = '', ...lines] = proof.split('\n');
    const { checkpoint, ...rest } = JSON.parse(head) as { checkpoint: string };
    const line = checkpoint.split('\n').at(-2) ?? '';
    const bytes = Buffer.from(line.split(' ')[2] ?? '', 'base64');
    bytes[40] = (bytes[40] ?? 0) ^ 1;
    const forged = checkpoint.replace(line, `\u2014 witness.example/w1 ${bytes.toString('base64')}`);
    writeFileSync(fileOf('proof'), [JSON.stringify({ ...rest, checkpoint: forged }), ...lines].join('\n'));
    await expect(verify({ witness: [WITNESS] })).rejects.toThrow(
      '/checkpoint: the cosignature of witness.example/w1 does not fit the checkpoint',
    );
  });
});

describe('pedigree audit new-key --witness', () => {
  it('makes the key of a witness, which is not that of a log', async () => {
    const [, made] = await printed(() => newAuditKey(fileOf('key.pem'), { origin: 'o', witness: 'witness.example/w' }));
    expect(parseWitnessKey(made).name).toBe('witness.example/w');
    const owner = { origin: 'o', witness: 'witness.example/w' };
    expect((await printed(() => showAuditKey(fileOf('key.pem'), owner)))[1]).toBe(made);
    expect((await printed(() => showAuditKey(fileOf('key.pem'), { origin: 'o' })))[1]).toMatch(/^o\+/);
  });
});
