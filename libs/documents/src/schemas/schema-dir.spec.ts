import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PedigreeError } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { addSchemaSet, readSchemaDir, removeSchemaSet } from './schema-dir.js';

const builtIn = fileURLToPath(new URL('../../schemas/1.38/', import.meta.url));
const XSD = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"';
const schema = (content: string): string => `<xs:schema ${XSD}>\n${content}\n</xs:schema>\n`;
const type = '<xs:complexType name="move"><xs:attribute name="action_id" type="xs:int" fixed="415"/></xs:complexType>';
const root = (inside = '<xs:element name="move_order" type="move"/>'): string =>
  `<xs:element name="documents"><xs:complexType><xs:choice>${inside}</xs:choice></xs:complexType></xs:element>`;
const include = (place: string): string => `<xs:include schemaLocation="${place}"/>`;

let temporary: TemporaryFolder;
let dir: string;
beforeEach(async () => {
  temporary = await temporaryFolder();
  dir = join(temporary.path, 'schemas');
});
afterEach(() => temporary.remove());

function folderOf(files: Record<string, string>): string {
  const folder = join(temporary.path, 'given');
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** A set that is good gets the usual time also on a busy machine; one that never ends is given up sooner. */
const FOR_BOMBS = { timeMs: 3_000, memoryBytes: 3e8 };
const add = (folder: string, more: object = {}, limits?: typeof FOR_BOMBS) =>
  addSchemaSet(dir, { folder, name: 'industry', versions: ['1.37', '1.38'], ...more }, limits);

async function refusal(files: Record<string, string>, limits?: typeof FOR_BOMBS): Promise<PedigreeError> {
  const error: unknown = await add(folderOf(files), {}, limits).then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (error instanceof PedigreeError) return error;
  throw error ?? new Error('it was taken');
}

describe('a set that is added', () => {
  it('is read again with what was said of it, the newest first, and can be taken away', async () => {
    await add(folderOf({ 'a.xsd': schema(root() + type), 'readme.txt': 'not read' }), { validFrom: '2026-01-01' });
    await addSchemaSet(dir, {
      folder: builtIn,
      name: 'next',
      versions: ['1.38'],
      validFrom: '2026-09-01',
      validUntil: '2026-12-31',
    });
    const [first, second] = readSchemaDir(dir, []);
    expect(first).toMatchObject({
      name: 'next',
      versions: ['1.38'],
      validFrom: '2026-09-01',
      validUntil: '2026-12-31',
    });
    expect(first?.lacks).toEqual([]);
    expect(second).toMatchObject({ name: 'industry', versions: ['1.37', '1.38'], validFrom: '2026-01-01' });
    expect(second?.lacks).toHaveLength(105);
    removeSchemaSet(dir, 'next');
    expect(readdirSync(dir)).toEqual(['industry']);
    expect(() => removeSchemaSet(dir, '../schemas')).toThrow(/has no set/);
  });

  it('is refused under a name that is taken, and with dates and versions that are none', async () => {
    const folder = folderOf({ 'a.xsd': schema(root() + type) });
    await add(folder);
    await expect(add(folder)).rejects.toThrow(/is there already/);
    await expect(add(folder, { name: '../out' })).rejects.toThrow(/name "..\/out"/);
    await expect(add(folder, { name: 'b', versions: [] })).rejects.toThrow(/versions \[\]/);
    await expect(add(folder, { name: 'b', validFrom: '2026-02-30' })).rejects.toThrow(/"2026-02-30" is not a day/);
    await expect(add(folder, { name: 'b', validFrom: '2026-02-02', validUntil: '2026-02-01' })).rejects.toThrow(
      /behind/,
    );
    expect(readdirSync(dir)).toEqual(['industry']);
  });

  it('may be the folder itself, for all versions', () => {
    cpSync(builtIn, dir, { recursive: true });
    expect(readSchemaDir(dir, ['1.30', '1.38'])).toMatchObject([{ name: 'schemas', versions: ['1.30', '1.38'] }]);
  });

  it('whose description is damaged is named with its file', async () => {
    await add(folderOf({ 'a.xsd': schema(root() + type) }));
    writeFileSync(join(dir, 'industry', 'set.json'), '{"name":');
    expect(() => readSchemaDir(dir, [])).toThrow(/industry\/set.json: is not readable/);
  });
});

const laughs = ['a', 'b', 'c', 'd', 'e', 'f'].map((name, i, all) =>
  i === 0 ? `<!ENTITY a "${'x'.repeat(50)}">` : `<!ENTITY ${name} "${`&${all[i - 1]};`.repeat(50)}">`,
);
const nested = (depth: number): string =>
  depth === 0
    ? '<xs:element name="x" type="xs:string"/>'
    : `<xs:sequence minOccurs="0" maxOccurs="99999">${nested(depth - 1)}${nested(depth - 1)}</xs:sequence>`;

describe('a folder that is refused, with file and line, and the set in force stays', () => {
  it.each<[string, Record<string, string>, RegExp, number | undefined]>([
    ['no file', { 'a.txt': '' }, /given: holds no XSD file/, undefined],
    ['no root', { 'a.xsd': schema(type) }, /no file declares the element <documents>/, undefined],
    [
      'two roots',
      { 'a.xsd': schema(root() + type), 'b.xsd': schema(root()) },
      /^b.xsd, line 2: <documents> is declared a second time; the first is in a.xsd, line 2/,
      2,
    ],
    [
      'a missing include',
      { 'a.xsd': schema(`\n${include('b.xsd')}${root()}`) },
      /^a.xsd, line 3: .* not in the folder/,
      3,
    ],
    [
      'a circle',
      { 'a.xsd': schema(include('b.xsd') + root() + type), 'b.xsd': schema(`\n\n${include('a.xsd')}`) },
      /^b.xsd, line 4: includes go round in a circle: a.xsd > b.xsd > a.xsd/,
      4,
    ],
    ['a file outside', { 'a.xsd': schema(include('../b.xsd') + root()) }, /^a.xsd, line 2: include of ..\/b.xsd/, 2],
    [
      'an absolute file',
      { 'a.xsd': schema(include('/etc/passwd') + root()) },
      /^a.xsd, line 2: .*nothing is fetched/,
      2,
    ],
    [
      'entities',
      { 'a.xsd': `<!DOCTYPE d [${laughs.join('')}]>\n${schema(`&f;${root()}`)}` },
      /^a.xsd, line 1: a document type/,
      1,
    ],
    [
      'an outside entity',
      { 'a.xsd': `<!DOCTYPE d SYSTEM "/etc/passwd">\n${schema(root())}` },
      /^a.xsd, line 1: a document type/,
      1,
    ],
    ['what is no XML', { 'a.xsd': schema(root()).replace('</xs:choice>', '') }, /^a.xsd, line 2: /, 2],
    ['what is not a schema', { 'a.xsd': '<documents/>' }, /^a.xsd, line 1: its root <documents> is not a schema/, 1],
    ['a type that is not there', { 'a.xsd': schema(`\n${root()}`) }, /^a.xsd, line 3: .*'move'/, 3],
    [
      'deep nesting',
      { 'a.xsd': '<xs:schema '.concat(XSD, '>', '<a>'.repeat(5_000)) },
      /^a.xsd, line 1: elements stand more than 64 deep/,
      1,
    ],
    [
      'a bomb of repetitions',
      {
        'a.xsd': schema(
          root(`<xs:element name="move_order"><xs:complexType>${nested(8)}</xs:complexType></xs:element>`),
        ),
      },
      /^a.xsd: (the set is not compiled within 3 s|to compile the set takes more than 286 MB)/,
      undefined,
    ],
    [
      'a bomb of a regular expression',
      {
        'a.xsd': schema(
          `${root()}${type}<xs:simpleType name="t"><xs:restriction base="xs:string">` +
            `<xs:pattern value="${'a?'.repeat(3_000)}"/></xs:restriction></xs:simpleType>`,
        ),
      },
      /^a.xsd: (the set is not compiled within 3 s|to compile the set takes more than 286 MB)/,
      undefined,
    ],
  ])('%s', async (_, files, words, line) => {
    await add(builtIn, { name: 'in-force' });
    const error = await refusal(files, words.source.includes('within 3 s') ? FOR_BOMBS : undefined);
    expect(error.code).toBe('invalid_schema_set');
    expect(error.message).toMatch(words);
    if (line !== undefined) expect(error.place.line).toBe(line);
    expect(readdirSync(dir)).toEqual(['in-force']);
    expect(readSchemaDir(dir, []).map(({ lacks }) => lacks)).toEqual([[]]);
  });

  it('more files than are read', async () => {
    const files = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`${n}.xsd`, schema('')]));
    expect((await refusal(files)).message).toMatch(/holds 1001 XSD files; at most 1000/);
  });

  it('more bytes than are read', async () => {
    expect((await refusal({ 'a.xsd': schema(`<!--${' '.repeat(33 * 1024 * 1024)}-->`) })).message).toMatch(
      /bytes of XSD/,
    );
  });

  it.each(['include', 'import', 'redefine'])('a remote %s, which nobody asks for', async (link) => {
    let asked = 0;
    const server = createServer((_, answer) => {
      asked += 1;
      answer.end(schema(type));
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/b.xsd`;
    const remote = `<xs:${link} schemaLocation="${url}"/>`;
    const error = await refusal({ 'a.xsd': schema(`${remote}${root()}`) });
    await new Promise((closed) => server.close(closed));
    expect(error.message).toMatch(/^a.xsd, line 2: .*nothing is fetched/);
    expect(asked).toBe(0);
  });
});
