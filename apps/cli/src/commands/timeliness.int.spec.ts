import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSheet } from 'read-excel-file/node';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { readCalendarFile } from '#read-models';
import { arrival, TestHarness } from '../../../gateway/test/test-harness.js';
import { commandLine } from '../command-line.js';
import { sandboxFile } from '../config.js';

let harness: TestHarness;
let requestId: string;
let folder: TemporaryFolder;
const before = process.env['PEDIGREE_URL'];

beforeAll(async () => {
  folder = await temporaryFolder();
  const calendarFile = readCalendarFile(fileURLToPath(sandboxFile('data/deadlines.json')));
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas), { calendarFile });
  await harness.post({ command_id: 'a-1', account: 'main', xml: arrival() });
  requestId = await harness.run('a-1');
  process.env['PEDIGREE_URL'] = harness.gateway.url;
});
afterAll(async () => {
  if (before === undefined) delete process.env['PEDIGREE_URL'];
  else process.env['PEDIGREE_URL'] = before;
  await harness.stop();
  await folder.remove();
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** What `pedigree timeliness` with these options writes on standard output. */
async function told(...options: string[]): Promise<string> {
  let text = '';
  const write = (chunk: unknown, done?: unknown): boolean => {
    text += String(chunk);
    if (typeof done === 'function') (done as () => void)();
    return true;
  };
  jest.spyOn(process.stdout, 'write').mockImplementation(write as typeof process.stdout.write);
  await commandLine(() => undefined).parseAsync(['node', 'pedigree', 'timeliness', ...options]);
  jest.restoreAllMocks();
  return text;
}

describe('pedigree timeliness', () => {
  it('tells by which calendar, that it is made up, and what was due when', async () => {
    const text = await told('--late');
    expect(text).toContain('by the calendar "Sandbox calendar", edition 1, as of ');
    expect(text).toContain('This calendar is made up');
    expect(text).toMatch(new RegExp(`${requestId} .*overdue .*2026-01-20T21:00:00Z .*Made-up rule 1`));
  });

  it('filters, prints JSON, and writes a file', async () => {
    expect(await told('--role', 'receiver')).not.toContain(requestId);
    expect(
      await told('--type', '701', '--account', 'main', '--since', '2026-01-01', '--until', '2026-02-01'),
    ).toContain(requestId);
    expect(JSON.parse(await told('--json'))).toMatchObject({ items: [{ request_id: requestId }] });
    expect((await told('--csv', '-')).split('\r\n')[1]).toContain(`sender,api,${requestId}`);
    expect(JSON.parse(await told('--ndjson', '-'))).toMatchObject({ request_id: requestId });
    const file = join(folder.path, 'report.xlsx');
    await told('--excel', file);
    const [head = [], row = []] = await readSheet(file);
    expect(row[head.indexOf('request_id')]).toBe(requestId);
    await expect(told('--csv', '-', '--ndjson', '-')).rejects.toMatchObject({ place: { field: '--csv' } });
  });
});
