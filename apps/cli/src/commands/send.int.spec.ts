import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { arrival, TestHarness } from '../../../gateway/test/test-harness.js';
import { GatewayClient } from '../gateway-client.js';
import { waitForConclusion } from '../sample/feed.js';
import { send } from './send.js';

let harness: TestHarness;
let folder: TemporaryFolder;
let client: GatewayClient;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  folder = await temporaryFolder();
  client = new GatewayClient(harness.gateway.url);
});
afterAll(async () => {
  await harness.stop();
  await folder.remove();
});
afterEach(() => {
  jest.restoreAllMocks();
});

function file(name: string, content: string | Buffer): string {
  const path = join(folder.path, name);
  writeFileSync(path, content);
  return path;
}

interface Sent {
  source: string;
  command_id?: string;
  error?: string;
}

/** The exit status, and what was printed for each command. */
async function sent(files: string[], options: { account?: string } = {}): Promise<{ status: number; results: Sent[] }> {
  let printed = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  const status = await send(client, files, { ...options, json: true });
  jest.restoreAllMocks();
  return {
    status,
    results: printed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Sent),
  };
}

const accountsOf = async (...commandIds: string[]) =>
  (
    await harness.db.pool.query('SELECT account FROM command WHERE command_id = ANY($1) ORDER BY command_id', [
      commandIds,
    ])
  ).rows.map((row) => String(row.account));

describe('pedigree send', () => {
  it('shows what was odd about the items of what was taken', async () => {
    const print = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
    const path = file('check-digit.xml', arrival('<sgtin>04600000000016ABCDE00100001</sgtin>'));
    expect(await send(client, [path], {})).toBe(0);
    expect(String(print.mock.calls.at(-1)?.[0])).toContain('acknowledged; wrong_check_digit: 1');
  });

  it('refuses a file in another encoding with the byte and the line, and sends the others', async () => {
    // "Отчёт" in windows-1251.
    const cyrillic = Buffer.from([0xce, 0xf2, 0xf7, 0xb8, 0xf2]);
    const xml = file(
      'cp1251.xml',
      Buffer.concat([
        Buffer.from('<?xml version="1.0" encoding="windows-1251"?>\n<!-- '),
        cyrillic,
        Buffer.from(` -->\n${arrival()}`),
      ]),
    );
    const json = file('cp1251.json', Buffer.concat([Buffer.from('{"command_id":"'), cyrillic, Buffer.from('"}')]));
    const good = file('good.xml', `\uFEFF${arrival()}`);
    const { status, results } = await sent([xml, json, good]);
    expect(status).toBe(1);
    expect(results).toMatchObject([
      { source: xml, error: expect.stringContaining('not UTF-8, at byte 51 (line 2)') },
      { source: json, error: expect.stringContaining('not UTF-8, at byte 15 (line 1)') },
      { source: good, command_id: expect.stringMatching(/^file-[0-9a-f]{64}$/) },
    ]);
  });

  it('sends every good line of a file, whatever the others are, and names each by its line', async () => {
    const lines = [
      JSON.stringify({ command_id: 'l1', xml: arrival() }),
      '{oops',
      '',
      '{"command_id":"l4","command_id":"l5"}',
      JSON.stringify({ command_id: 'l5', xml: arrival() }),
    ];
    const path = file('commands.ndjson', lines.join('\r\n'));
    const { status, results } = await sent([path]);
    expect(status).toBe(1);
    expect(results).toMatchObject([
      { source: `${path}:1`, command_id: 'l1' },
      { source: `${path}:2`, error: expect.stringMatching(/^invalid_json: the body is not JSON/) },
      { source: `${path}:4`, error: 'invalid_json: /command_id: stands here twice' },
      { source: `${path}:5`, command_id: 'l5' },
    ]);
    const again = await sent([file('again.ndjson', `${lines[0]}\n${lines[4]}\n`)]);
    expect([again.status, again.results.length]).toEqual([0, 2]);
  });

  it('gives the account to commands that name none', async () => {
    const lines = [
      { command_id: 'a1', xml: arrival() },
      { command_id: 'a2', xml: arrival(), account: 'main' },
    ].map((one) => JSON.stringify(one));
    const single = file('single.json', JSON.stringify({ command_id: 'a3', xml: arrival() }, undefined, 2));
    expect((await sent([file('accounts.ndjson', lines.join('\n')), single], { account: 'north' })).status).toBe(0);
    expect(await accountsOf('a1', 'a2', 'a3')).toEqual(['north', 'main', 'north']);
  });

  it('says what is wrong with a file that is empty or not there', async () => {
    const { status, results } = await sent([
      file('empty.xml', ''),
      file('empty.ndjson', ''),
      join(folder.path, 'none.xml'),
      join(folder.path, 'none.ndjson'),
    ]);
    expect(status).toBe(1);
    expect(results.map((one) => one.error)).toEqual([
      expect.stringMatching(/^missing_body/),
      expect.stringMatching(/^missing_body/),
      expect.stringContaining('ENOENT'),
      expect.stringContaining('ENOENT'),
    ]);
  });
});

describe('waiting for the sample', () => {
  it('counts the sample’s own documents and nobody else’s', async () => {
    const ids = ['sample-1', 'sample-2', 'user-1', 'user-2', 'user-3'];
    await harness.postLines(ids.map((command_id) => ({ command_id, xml: arrival() })));
    const refusal = [
      { type: 'BeginSend' } as const,
      {
        type: 'RecordSendAnswer',
        attempt: 1,
        answer: { kind: 'refused', code: '7', text: 'no', answerSha256: 'a'.repeat(64) },
      } as const,
    ];
    for (const id of ['sample-1', 'user-1', 'user-2', 'user-3']) await harness.run(id, refusal);
    const commands = ['sample-1', 'sample-2'].map((commandId) => ({
      commandId,
      account: 'main',
      after: [],
      document: { action_id: 701 },
      expected: 'failed' as const,
    }));
    const told: number[] = [];
    const wait = () =>
      waitForConclusion(client, {
        commands,
        signal: new AbortController().signal,
        limitMs: 0,
        progress: (concluded) => told.push(concluded),
      });
    expect(await wait()).toMatchObject([{ commandId: 'sample-1', phase: 'concluded', outcome: 'failed' }]);
    await harness.run('sample-2', refusal);
    expect((await wait()).map((row) => row.commandId)).toEqual(['sample-1', 'sample-2']);
    expect(told).toEqual([1, 2]);
  });
});
