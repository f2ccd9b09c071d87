import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { auditorConfig } from '../../apps/auditor/src/config.js';
import { auditorProgram } from '../../apps/auditor/src/program.js';
import { answerRequests } from '../../apps/witness/src/requests.js';
import { StateFolder } from '../../apps/witness/src/state-folder.js';
import { Witness } from '../../apps/witness/src/witness.js';
import { newSigningKey, noteSigner, parseVerifierKey, verifierKeyOf, witnessKeyOf } from '#merkle';
import { runProgram, thisProcess, type Readiness } from '#service';
import { firing } from '../support/alert-rules.js';
import { testDatabase, type TestDatabase } from '../support/database.js';
import { walkLog } from '../support/log-walker.js';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/until.js';

const ORIGIN = 'pedigree.example/log';
const NAME = 'witness.example/one';
const PEM = newSigningKey();
const signer = noteSigner(NAME, newSigningKey());

let db: TestDatabase;
let folder: TemporaryFolder;
let server: Server;
let witnessUrl: string;
beforeEach(async () => {
  [db, folder] = await Promise.all([testDatabase(), temporaryFolder()]);
  writeFileSync(join(folder.path, 'key.pem'), PEM, { mode: 0o600 });
  const logs = [parseVerifierKey(verifierKeyOf(noteSigner(ORIGIN, PEM)))];
  const witness = new Witness({ signer, logs, state: new StateFolder(join(folder.path, 'witness')) });
  server = createServer(answerRequests(witness, () => undefined));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  witnessUrl = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await db.drop();
  await folder.remove();
});

interface Urls {
  url: string;
  healthUrl: string;
}

/** Runs the auditor with a folder of this name. */
async function whileItRuns(memory: string, look: (urls: Urls) => Promise<void>): Promise<void> {
  const lines: string[] = [];
  let interrupt: (signal: NodeJS.Signals) => void = () => undefined;
  const env = {
    ...{ DATABASE_URL: db.url, AUDIT_KEY_FILE: join(folder.path, 'key.pem'), AUDIT_ORIGIN: ORIGIN },
    ...{ AUDIT_FOLDER: join(folder.path, memory), AUDIT_CHECKPOINT_SECONDS: '1', LOG_LEVEL: 'silent' },
    ...{ AUDIT_WITNESSES: `${witnessKeyOf(signer)} ${witnessUrl}`, AUDIT_LOG_PORT: '0' },
  };
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
    await look(JSON.parse(lines[0] ?? '') as Urls);
  } finally {
    interrupt('SIGTERM');
    expect(await running).toBe(0);
  }
}

const readiness = async ({ healthUrl }: Urls): Promise<Readiness> =>
  (await (await fetch(`${healthUrl}/health/ready`)).json()) as Readiness;
const checkpointAt = async ({ url }: Urls): Promise<string> => (await fetch(`${url}/checkpoint`)).text();

describe('an auditor with a witness, as a program', () => {
  it('publishes what the witness cosigned; is red where the witness knows another log', async () => {
    await whileItRuns('one', async (urls) => {
      await until('it is cosigned', async () => (await checkpointAt(urls)).includes(NAME));
      const { size, origin } = await walkLog(async (path) =>
        Buffer.from(await (await fetch(`${urls.url}/${path}`)).arrayBuffer()),
      );
      expect([origin, size > 0]).toEqual([ORIGIN, true]);
      await until('it is ready', async () => (await readiness(urls)).status === 'ready');
      const metrics = await (await fetch(`${urls.healthUrl}/metrics`)).text();
      expect(metrics).toMatch(new RegExp(`^pedigree_audit_witness_size\\{.*witness="${NAME}".* [1-9]\\d*$`, 'm'));
      expect(firing([metrics])).toEqual([]);
    });
    // An insider changes an event, wipes what the auditor keeps, and the folder is gone.
    await db.pool.query(
      `UPDATE event SET recorded_at = recorded_at - interval '1 day' WHERE position = 2;
       TRUNCATE audit_tree, audit_tile, audit_page, audit_checkpoint, audit_cosignature;
       DELETE FROM checkpoint WHERE name = 'auditor'`,
    );
    await whileItRuns('two', async (urls) => {
      const part = async () => (await readiness(urls)).parts.find(({ name }) => name === 'witnessed history');
      await until('it is red', async () => (await part())?.status === 'down');
      expect((await part())?.error).toMatch(new RegExp(`^witness ${NAME}: it does not cosign .* log was rewritten`));
      expect((await fetch(`${urls.healthUrl}/health/ready`)).status).toBe(503);
      // Figures are read again after five seconds at the earliest.
      await until('the alert fires', async () =>
        firing([await (await fetch(`${urls.healthUrl}/metrics`)).text()]).includes(`AuditWitnessRefuses ${NAME}`),
      );
      expect(await checkpointAt(urls)).not.toContain(NAME);
    });
  }, 180_000);
});
