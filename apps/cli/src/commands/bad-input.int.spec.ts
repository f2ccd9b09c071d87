import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { arrival, SGTIN, TestHarness } from '../../../gateway/test/test-harness.js';
import { GatewayClient } from '../gateway-client.js';
import { send, type SendOptions } from './send.js';

const MEGABYTE = 1024 * 1024;

let harness: TestHarness;
let folder: TemporaryFolder;
let goods = 0;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  folder = await temporaryFolder();
});
afterAll(async () => {
  await harness.stop();
  await folder.remove();
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** What `pedigree send` would print, and its exit status. */
async function run(
  files: string[],
  options: SendOptions = {},
  url = harness.gateway.url,
): Promise<{ status: number; printed: string }> {
  let printed = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  const status = await send(new GatewayClient(url), files, options);
  jest.restoreAllMocks();
  return { status, printed };
}

function file(name: string, content: string | Buffer): string {
  const path = join(folder.path, name);
  writeFileSync(path, content);
  return path;
}

/** A file of this size that begins with `head`. */
function large(name: string, head: string, bytes: number): string {
  const path = join(folder.path, name);
  const out = openSync(path, 'w');
  writeSync(out, head);
  for (let written = head.length; written < bytes; written += MEGABYTE)
    writeSync(out, Buffer.alloc(Math.min(MEGABYTE, bytes - written), 'x'));
  closeSync(out);
  return path;
}

const registered = async (): Promise<number> =>
  Number((await harness.db.pool.query<{ n: bigint }>('SELECT count(*) AS n FROM command')).rows[0]?.n);
const command = (fields: object): string => JSON.stringify({ command_id: 'x', xml: arrival(), ...fields });

describe('bad input on the command line: named, nothing registered, the others still sent', () => {
  const laughs = '<!DOCTYPE documents [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>';
  const cases: [string, () => string, RegExp][] = [
    ['malformed XML', () => file('cut.xml', arrival().replace('</accept>', '')), /malformed_xml: .*line 1/],
    [
      'malformed XML further down',
      () => file('cut-below.xml', `\n\n${arrival().replace('</order_details>', '')}`),
      /malformed_xml: .*line 3/,
    ],
    ['a DOCTYPE', () => file('doctype.xml', `<!DOCTYPE documents>${arrival()}`), /forbidden_xml: .*line 1/],
    ['entities', () => file('laughs.xml', laughs + arrival('<sgtin>&b;</sgtin>')), /forbidden_xml: .*line 1/],
    [
      'an external entity',
      () =>
        file('outside.xml', `<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>${arrival('<sgtin>&x;</sgtin>')}`),
      /forbidden_xml: .*line 1/,
    ],
    [
      'an unknown document type',
      () => file('type.xml', arrival().replaceAll('accept', 'accept_all').replace('701', '799')),
      /unknown_document_type: .*(799|accept_all)/,
    ],
    [
      'a wrong SGTIN',
      () => file('sgtin.xml', `\n${arrival('<sgtin>0460123</sgtin>')}`),
      /invalid_identifier: .*(0460123.*line 2|line 2.*0460123)/,
    ],
    [
      'a field that is missing',
      () => file('field.xml', arrival().replace(/<subject_id>.*?<\/subject_id>/, '')),
      /schema_violation: .*subject_id/,
    ],
    ['no XML at all', () => file('words.xml', 'hello'), /malformed_xml/],
    [
      'bytes that are no text',
      () => file('binary.xml', Buffer.from(Array.from({ length: 512 }, (_, i) => (i * 37) % 256))),
      /not UTF-8/,
    ],
    [
      'an unknown account',
      () => file('account.json', command({ account: 'nobody' })),
      /unknown_account: .*nobody.*main, north/,
    ],
    ['a command without a body', () => file('bare.json', '{"command_id":"x"}'), /invalid_command: \/xml/],
    [
      'a command without an id',
      () => file('no-id.json', JSON.stringify({ xml: arrival() })),
      /invalid_command: \/command_id/,
    ],
    ['JSON that is cut off', () => file('cut.json', command({}).slice(0, -5)), /invalid_json/],
    ['an empty file', () => file('empty.xml', ''), /missing_body: .*empty\.xml is empty/],
    ['a file of blanks', () => file('blank.xml', ' \n\n '), /(missing_body|malformed_xml)/],
    ['no such file', () => join(folder.path, 'nowhere.xml'), /nowhere\.xml/],
    ['a folder', () => (mkdirSync(join(folder.path, 'folder.xml')), join(folder.path, 'folder.xml')), /EISDIR/],
    [
      'a file of 60 MB',
      () => large('huge.xml', '<documents version="1.38">', 60 * MEGABYTE),
      /body_too_large: .*62914560 bytes; at most 50331648/,
    ],
    [
      'a document above the limit',
      () => large('long.xml', arrival().replace('</documents>', ''), 34 * MEGABYTE),
      /body_too_large: .*33554432/,
    ],
  ];

  it.each(cases)('%s', async (_what, bad, words) => {
    const before = await registered();
    const good = file(
      `good-${(goods += 1)}.xml`,
      arrival(`<sgtin>${SGTIN.slice(0, -5)}${String(goods).padStart(5, '0')}</sgtin>`),
    );
    const path = bad();
    const { status, printed } = await run([path, good], { json: true });
    expect(status).toBe(1);
    const [refused, taken] = printed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { source: string; error?: string; request_id?: string });
    expect(refused).toEqual({ source: path, error: expect.stringMatching(words) });
    expect(taken).toMatchObject({ source: good, repeated: false });
    expect(await registered()).toBe(before + 1);
    expect((await fetch(`${harness.gateway.url}/health/ready`)).status).toBe(200);
  });

  it('says the same to people, in a table', async () => {
    const { status, printed } = await run([join(folder.path, 'nowhere.xml')]);
    expect(status).toBe(1);
    expect(printed).toMatch(/^source +result\n─+\n\S+nowhere\.xml +invalid_parameter: /);
    expect(printed).toContain('ENOENT');
  });

  it('takes no line of 60 MB, and says which line it was', async () => {
    const before = await registered();
    const head = `${JSON.stringify({ command_id: 'before-it', xml: arrival() })}\n{"command_id":"too-long","xml":"`;
    const { status, printed } = await run([large('huge.ndjson', head, 60 * MEGABYTE)], { json: true });
    expect(status).toBe(1);
    const results = printed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { source: string; error?: string });
    expect(results[0]).toMatchObject({ source: expect.stringMatching(/huge\.ndjson:1$/), command_id: 'before-it' });
    expect(results[1]).toEqual({
      source: expect.stringMatching(/huge\.ndjson:2$/),
      error: expect.stringMatching(/body_too_large: .*8388608/),
    });
    expect(results).toHaveLength(2);
    expect(await registered()).toBe(before + 1);
    expect((await fetch(`${harness.gateway.url}/health/ready`)).status).toBe(200);
  });

  it('says that nobody is there, for each file', async () => {
    const files = [file('one.xml', arrival()), file('two.ndjson', `${command({})}\n`)];
    const { status, printed } = await run(files, { json: true }, 'http://127.0.0.1:1');
    expect(status).toBe(1);
    expect(
      printed
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(files.map((source) => ({ source, error: expect.stringContaining('ECONNREFUSED') })));
  });
});
