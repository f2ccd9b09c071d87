import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { PostgresEventStore } from '#event-store';
import { pino } from 'pino';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { TestHarness } from '../../test/test-harness.js';
import { ANSWERS, configurationChanges } from '../api/answers.js';
import { gatewayConfig } from '../config.js';
import { startGateway } from '../gateway.js';

const PATH = '/v1/operations/configuration';
const quiet = pino({ level: 'silent' });

let harness: TestHarness;
let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
});
afterAll(async () => {
  await harness.stop();
  await folder.remove();
});

const restart = async (over: NodeJS.ProcessEnv = {}): Promise<void> => {
  const again = await startGateway(gatewayConfig({ ...harness.environment, ...over }), quiet);
  await again.stop();
};
const history = async (query = '') => configurationChanges.parse((await harness.ask(`${PATH}${query}`)).json());

describe('the settings of a gateway', () => {
  it('are recorded at its first start, part by part, and told as the description of the API says', async () => {
    const answer = await history();
    expect(answer.items.map((one) => [one.program, one.part]).reverse()).toEqual(
      ['configuration', 'accounts', 'schemas', 'software'].map((part) => ['gateway', part]),
    );
    const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, uuid: true } });
    ajv.addSchema({ $id: 'api', ...(await harness.ask('/v1/openapi.json')).json<object>() });
    expect(Object.keys(ANSWERS)).toContain('ConfigurationChanges');
    expect([
      ajv.validate({ $ref: 'api#/components/schemas/ConfigurationChanges' }, (await harness.ask(PATH)).json()),
      ajv.errors,
    ]).toEqual([true, null]);
  });

  it('are not recorded again by a gateway on another port that says other things in its log', async () => {
    const before = (await history()).items.length;
    await restart({ HEALTH_PORT: '0', LOG_LEVEL: 'fatal' });
    expect((await history()).items).toHaveLength(before);
  });

  it('show a change with who and why', async () => {
    await restart({
      PEDIGREE_MAX_BACKLOG: '5000',
      PEDIGREE_CHANGED_BY: 'Petrova',
      PEDIGREE_CHANGE_REASON: 'the year-end load',
    });
    expect((await history('?limit=1')).items).toMatchObject([
      {
        part: 'configuration',
        actor: { kind: 'person', name: 'Petrova' },
        reason: 'the year-end load',
        changes: [{ field: '/maxBacklog', from: 100_000, to: 5_000 }],
      },
    ]);
  });

  it('are told in pages, by program and part, and with nothing that is no parameter', async () => {
    const first = await history('?limit=2');
    expect((await history(`?limit=100&before=${String(first.next_before)}`)).items).toHaveLength(3);
    expect((await history('?part=software&program=gateway')).items).toHaveLength(1);
    expect((await harness.ask(`${PATH}?part=everything`)).json()).toMatchObject({ status: 400, field: 'part' });
  });

  it('never hold a secret', async () => {
    const key = 'ab'.repeat(32);
    const keyFile = join(folder.path, 'key');
    writeFileSync(keyFile, key);
    const { password } = new URL(harness.db.url);
    expect(password.length).toBeGreaterThan(5);
    await restart({ PEDIGREE_KEY_FILE: keyFile });
    const store = new PostgresEventStore({ pool: harness.db.pool });
    const events = await store.readStream('configuration');
    await store.close();
    const changed = events.at(-1)?.data as { changes: { field: string }[] };
    expect(changed.changes.map((one) => one.field)).toEqual(['/encryptionKey', '/maxBacklog']);
    const text = JSON.stringify(events.map(({ data, metadata }) => [data, metadata]));
    expect(text).toContain('***');
    for (const secret of [key, password]) expect(text).not.toContain(secret);
  });
});
