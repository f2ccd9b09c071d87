import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandHere } from '../../../../test/support/command-here.js';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { TestHarness } from '../../../gateway/test/test-harness.js';

const PLACE = '00000000100101';
const SGTIN = '04600000000015READM00000001';

let harness: TestHarness;
let folder: TemporaryFolder;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  folder = await temporaryFolder();
});
afterAll(async () => {
  await harness.stop();
  await folder.remove();
});

const here = (args: string[]) =>
  commandHere(args, { DATA_DIR: join(folder.path, 'data'), PEDIGREE_URL: harness.gateway.url });
const usage = (said: string) => ({ status: 2, stdout: '', stderr: `pedigree: ${said}\n` });

const INSTANT = 'must be an instant with an offset or Z, such as 2026-03-02T10:00:00Z';

describe('what an option cannot mean: by the name of the option, in plain words, with status 2', () => {
  it.each([
    [['documents', '--limit', '100000'], '--limit: must be a whole number from 1 to 1000'],
    [['documents', '--limit', 'x'], '--limit: must be a whole number from 1 to 1000'],
    [['documents', '--outcome', 'bad'], '--outcome: must be one of accepted, partial, rejected, failed'],
    [['documents', '--type', 'x'], '--type: must be a whole number from 1 to 999999'],
    [['packs', '--expires-within', '-1'], '--expires-within: must be a whole number from 0 to 36500'],
    [['packs', '--status', 'nonsense'], '--status: must be a status of a pack, such as in_circulation'],
    [
      ['packs', '--document', 'nope'],
      '--document: nope is neither a request_id nor the id of a document that has moved a pack',
    ],
    [['packs', '--csv', '/nope/x.csv'], '--csv: /nope is no folder'],
    [['history', SGTIN, '--epcis', '--csv', '-'], '--epcis: --csv writes movements, and no events: choose one'],
    ...[['packs'], ['timeliness'], ['access'], ['suspensions'], ['cases'], ['reports', 'overrides'], ['recall']].map(
      (command): [string[], string] => [
        [...command, '--ndjson', '-', '--cursor', 'x'],
        '--cursor: --ndjson has all rows, not those of a page: leave it out',
      ],
    ),
    [
      ['stock', 'import', 'x.csv', '--moment', '2026-01-31T08:00:00Z', '--mapping', '/nope.json'],
      '--mapping: /nope.json is not there',
    ],
    [['reconcile', 'report', 'run', '--out', '/nope/x.html'], '--out: /nope is no folder'],
    [['stock', '--by', 'nope'], '--by: must be one of place, gtin, series, expires_on, status'],
    [['pack', SGTIN, '--as-of', '2026-03-01'], `--as-of: ${INSTANT}`],
    [['pack', SGTIN, '--known-at', 'x'], `--known-at: must be a position of the log, or ${INSTANT}`],
    [['check', SGTIN, '--for', 'foo', '--place', PLACE], '--for: must be one of receive, pick, ship, return, sell'],
    [['check', SGTIN, '--for', 'pick', '--place', PLACE, '--day', '2026-02-30'], '--day: must be a day as YYYY-MM-DD'],
    [['retry', 'send:1', '--reason', 'x'], '--reason: must have at least 3 characters'],
    [['audit', 'verify', 'proof.json', '--key', 'nope'], '--key: this is not a verifier key: nope'],
  ])('%j', async (args, said) => expect(await here(args)).toEqual(usage(said)));

  it.each([[['keys', 'list']], [['rebuild']]])(
    'a folder without an installation: %j makes none there',
    async (args) => {
      const data = join(folder.path, 'nothing');
      expect(await commandHere(args, { DATA_DIR: data })).toEqual(
        usage(
          `DATA_DIR: ${data} holds no installation: \`pedigree up\` makes one, ` +
            'and DATABASE_URL names a database elsewhere',
        ),
      );
      expect(existsSync(data)).toBe(false);
    },
  );

  it.each([[[]], [['--csv', '-']], [['--excel', 'check.xlsx']]])(
    'packs that may not be moved: the check ends with 2, also with %j',
    async (format) => {
      const options = format.map((one) => (one === 'check.xlsx' ? join(folder.path, one) : one));
      const { status, stdout } = await here(['check', SGTIN, '--for', 'pick', '--place', PLACE, ...options]);
      expect([status, stdout]).toEqual([2, options[0] === '--excel' ? '' : expect.stringContaining('No document')]);
      expect(existsSync(join(folder.path, 'check.xlsx'))).toBe(options[0] === '--excel');
    },
  );

  it('is told apart from a field of a file, which is refused', async () => {
    const file = join(folder.path, 'bare.json');
    writeFileSync(file, '{"command_id":"x1"}');
    const { status, stdout } = await here(['send', file, '--json']);
    expect(status).toBe(1);
    expect(stdout).toContain('/xml: neither `xml` nor `document` is given');
    const mapping = join(folder.path, 'mapping.json');
    writeFileSync(mapping, '{"format":"csv","colums":{"item":"sgtin"}}');
    const moment = ['--moment', '2026-01-31T08:00:00Z'];
    expect(await here(['stock', 'import', file, ...moment, '--mapping', mapping])).toEqual({
      ...{ status: 1, stdout: '', stderr: 'pedigree: mapping: colums is not known\n' },
    });
  });
});
