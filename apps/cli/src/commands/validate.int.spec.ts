import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { arrival } from '../../../gateway/test/test-harness.js';
import { commandLine } from '../command-line.js';

const builtIn = fileURLToPath(new URL('../../../../libs/documents/schemas/1.38/', import.meta.url));

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
  process.env['DATA_DIR'] = folder.path;
});
afterAll(async () => {
  delete process.env['DATA_DIR'];
  await folder.remove();
});
afterEach(() => void jest.restoreAllMocks());

/** What `pedigree` prints on both streams, and its exit status. */
async function run(...args: string[]): Promise<{ status: number | undefined; printed: string }> {
  let printed = '';
  for (const stream of [process.stdout, process.stderr])
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      printed += String(text);
      return true;
    });
  let status: number | undefined;
  try {
    await commandLine((one) => (status = one)).parseAsync(['node', 'pedigree', ...args]);
  } finally {
    jest.restoreAllMocks();
  }
  return { status, printed };
}

function file(name: string, content: string): string {
  const path = join(folder.path, name);
  writeFileSync(path, content);
  return path;
}

const good = (): string => file('good.xml', arrival());
const bad = (): string => file('bad.xml', `\n${arrival('<sgtin>0460</sgtin>')}`);

describe('pedigree validate', () => {
  it('says ok, or what is wrong with file, line and path', async () => {
    expect(await run('validate', good())).toEqual({ status: 0, printed: `${good()}: ok\n` });
    const sentence = '/documents/accept/order_details/sgtin: <sgtin> has 4 characters and must have 27';
    expect(await run('validate', bad(), good())).toEqual({
      status: 1,
      printed: `${bad()}:2: ${sentence}\n${good()}: ok\n`,
    });
  });

  it('is JSON for programs, and status 2 for a file that cannot be read', async () => {
    const { status, printed } = await run('validate', '--json', bad(), join(folder.path, 'none.xml'));
    expect(status).toBe(2);
    const [line = '', why = ''] = printed.split('\n');
    expect(JSON.parse(line)).toMatchObject({
      file: bad(),
      valid: false,
      schema_set: 'pedigree-1.38',
      version: '1.38',
      doc_type: 701,
      problems: [{ line: 2, path: '/documents/accept/order_details/sgtin' }],
    });
    expect(why).toMatch(/none.xml: ENOENT/);
  });

  it('judges by another folder of XSD files', async () => {
    const dir = join(folder.path, 'own');
    mkdirSync(dir);
    writeFileSync(
      join(dir, 'all.xsd'),
      `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="documents"><xs:complexType><xs:choice>
       <xs:element name="move_order"><xs:complexType><xs:attribute name="action_id" fixed="415"/></xs:complexType>
       </xs:element></xs:choice><xs:attribute name="version"/></xs:complexType></xs:element></xs:schema>`,
    );
    const { status, printed } = await run('validate', '--schemas', dir, good());
    expect(status).toBe(1);
    expect(printed).toMatch(/<accept> must not stand here; expected is <move_order>/);
  });
});

describe('pedigree schemas', () => {
  it('adds, lists, compares and removes sets, and validate uses them', async () => {
    const added = await run(
      'schemas',
      'add',
      builtIn,
      '--name',
      'industry',
      '--versions',
      '1.38',
      '--from',
      '2026-01-01',
    );
    expect(added).toEqual({
      status: 0,
      printed: 'industry is added, 108 files for 1.38; it has every known type. Restart the gateways.\n',
    });
    const { printed } = await run('schemas', '--json');
    expect(JSON.parse(printed)).toMatchObject([
      { name: 'industry', versions: ['1.38'], valid_from: '2026-01-01', files: 108, lacks: [], unknown_elements: [] },
      { name: 'pedigree-1.38' },
    ]);
    expect((await run('schemas', 'list')).printed).toMatch(/^set .*\n.*\nindustry +1\.38 +2026-01-01/);
    expect((await run('validate', '--json', good())).printed).toContain('"schema_set":"industry"');
    expect(await run('schemas', 'compare', 'industry', 'pedigree-1.38')).toEqual({
      status: 0,
      printed: 'industry and pedigree-1.38 allow the same\n',
    });
    const other = await run('schemas', 'compare', join(folder.path, 'own'), 'industry', '--json');
    expect(other.status).toBe(2);
    expect(JSON.parse(other.printed)).toEqual(
      expect.arrayContaining([
        { what: 'element', name: 'accept', in: 'second' },
        { what: 'field', name: 'move_order/order_details', in: 'second' },
        { what: 'type', name: 'price_type', in: 'second' },
      ]),
    );
    expect(await run('schemas', 'remove', 'industry')).toMatchObject({ status: 0 });
    expect((await run('validate', '--json', good())).printed).toContain('"schema_set":"pedigree-1.38"');
  });

  it('refuses a bad folder with file and line, and keeps what is there', async () => {
    const dir = join(folder.path, 'broken');
    mkdirSync(dir);
    writeFileSync(
      join(dir, 'a.xsd'),
      '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">\n<xs:include schemaLocation="b.xsd"/></xs:schema>',
    );
    await expect(run('schemas', 'add', dir, '--name', 'next', '--versions', '1.38')).rejects.toThrow(
      /^a.xsd, line 2: /,
    );
    await expect(run('schemas', 'add', join(dir, 'none'), '--name', 'next', '--versions', '1.38')).rejects.toThrow(
      /is not a folder/,
    );
    expect(JSON.parse((await run('schemas', '--json')).printed)).toHaveLength(1);
  });
});
