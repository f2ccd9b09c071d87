import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { startAuditor, type RunningAuditor } from '../../apps/auditor/src/auditor.js';
import { auditorConfig } from '../../apps/auditor/src/config.js';
import { cliConfig, sandboxFile, type CliConfig } from '../../apps/cli/src/config.js';
import { proveNamed } from '../../apps/cli/src/commands/audit-proof.js';
import { checkAudit } from '../../apps/cli/src/commands/audit-check.js';
import { runRebuild } from '../../apps/cli/src/commands/rebuild.js';
import { backup } from '../../apps/cli/src/commands/backup.js';
import { sampleDay } from '../../apps/cli/src/sample/day.js';
import { feed, summarise, waitForConclusion, type OutcomeRow } from '../../apps/cli/src/sample/feed.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { reconcilerConfig } from '../../apps/reconciler/src/config.js';
import { startReconciler, type RunningReconciler } from '../../apps/reconciler/src/reconciler.js';
import { newSigningKey } from '#merkle';
import type { Role } from '#rights';
import type { ProgramRoles } from '../support/program-roles.js';
import { until } from '../support/until.js';
import { quickStack } from './quick-stack.js';
import type { Stack } from './stack.js';

const LIMIT_MS = 120_000;

let stack: Stack;
let roles: ProgramRoles;
let audit: Record<string, string>;
let auditor: RunningAuditor;
let reconciler: RunningReconciler;

const of = (role: Role): Record<string, string> => ({
  ...stack.env,
  DATABASE_URL: roles.url(role),
  LOG_LEVEL: 'silent',
});
const configAs = (url: string, more = {}): CliConfig => cliConfig({ ...stack.env, ...more, DATABASE_URL: url });

beforeAll(async () => {
  for (const stream of [process.stdout, process.stderr]) jest.spyOn(stream, 'write').mockReturnValue(true);
  stack = await quickStack('interface-v1', { seed: 11, roles: true });
  roles = stack.roles as ProgramRoles;
  const folder = join(stack.folder, 'auditor');
  mkdirSync(folder);
  writeFileSync(join(folder, 'key.pem'), newSigningKey(), { mode: 0o600 });
  audit = {
    ...{ AUDIT_FOLDER: folder, AUDIT_KEY_FILE: join(folder, 'key.pem') },
    ...{ AUDIT_CHECKPOINT_SECONDS: '1', AUDIT_SWEEP_HOURS: '0' },
  };
  auditor = await startAuditor(auditorConfig({ ...of('auditor'), ...audit }));
  reconciler = await startReconciler(
    reconcilerConfig({ ...of('reconciler'), SEGMENTS_DIR: join(stack.folder, 'segments') }),
  );
}, LIMIT_MS);
afterAll(async () => {
  jest.restoreAllMocks();
  await reconciler?.stop();
  await auditor?.stop();
  await stack?.stop();
});

describe('an installation whose programs have roles of their own', () => {
  it(
    'ends every document as one that has all rights does, and seals, checks and compares',
    async () => {
      const day = sampleDay({
        world: readWorld(sandboxFile('data/world.json')),
        seed: 7,
        run: 'ROLES',
        accounts: ['main', 'north', 'south', 'retail'],
        at: new Date('2026-03-02T07:00:00Z'),
        consignments: 2,
      });
      await feed(stack.client, day);
      const signal = AbortSignal.timeout(LIMIT_MS);
      const ended = await waitForConclusion(stack.client, {
        commands: day,
        signal,
        limitMs: LIMIT_MS,
        progress: () => undefined,
      });
      expect(summarise(day, ended as OutcomeRow[])).toMatchObject({ unfinished: 0, unexpected: [] });
      await stack.caughtUp();
      const signed = async () => (await stack.db.pool.query('SELECT FROM audit_checkpoint')).rowCount !== 0;
      await until('a checkpoint is signed', signed, LIMIT_MS);
      // Twice: the second finds the schemas of the first, emptied.
      for (let twice = 0; twice < 2; twice += 1)
        expect(await checkAudit(configAs(roles.url('auditor'), audit), { json: true })).toBe(0);
      expect([auditor.troubles(), stack.worker.subscriptions.troubles()]).toEqual([[], []]);
      const { id } = (await stack.client.change('POST', '/v1/reconciliations', { reason: 'rights' })) as { id: string };
      const run = () => stack.client.get<{ result?: object }>(`/v1/reconciliations/${id}`);
      await until('the run has ended', async () => (await run()).result !== undefined, LIMIT_MS);
    },
    LIMIT_MS,
  );

  it('is backed up, and proven, by roles that only read; a break empties the tree by the auditor’s', async () => {
    const [first] = (await stack.client.get<{ items: { requestId: string }[] }>('/v1/documents?limit=1')).items;
    const inspector = configAs(roles.url('inspector'));
    const proven = () => proveNamed(inspector, { document: first?.requestId }).then((status) => status === 0);
    // Its newest events may not be signed yet.
    const notYet = (error: { code?: string }) =>
      error.code === 'unavailable' ? false : Promise.reject(error as Error);
    await until('its events are proven', () => proven().catch(notYet));
    // The gateway proves its answers by the tables of the auditor, which it may only read.
    const answered = () => fetch(`${stack.gateway.url}/v1/documents/${first?.requestId}?proof=1`);
    let text = '';
    await until('an answer is proven', async () => {
      const answer = await answered();
      text = await answer.text();
      return answer.status === 200;
    });
    expect(text).toMatch(/^\{"format":"pedigree-proof\/3"/);
    await roles.as('auditor').query('BEGIN; TRUNCATE audit_tree, audit_tile, audit_page; ROLLBACK');
    expect(await backup(configAs(roles.url('backup')), join(stack.folder, 'a.backup'))).toBe(0);
  });

  it(
    'keeps every right through a rebuild under way, and goes on',
    async () => {
      expect(await runRebuild(configAs(stack.db.url), 'all', {})).toBe(0);
      expect(await roles.findings()).toEqual([]);
      await stack.caughtUp();
      expect(stack.worker.subscriptions.troubles()).toEqual([]);
    },
    LIMIT_MS,
  );
});
