import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SaxesParser } from 'saxes';
import { PedigreeError, sha256Hex, type Sha256 } from '#kernel';

const XSD = 'http://www.w3.org/2001/XMLSchema';

/** The industry's set has 111 files of 2 MB together; these limits leave room and stop an accident. */
const MOST_FILES = 1_000;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_DEPTH = 64;

/** One XSD element, names without their prefix. */
export interface SchemaNode {
  tag: string;
  attributes: Readonly<Record<string, string>>;
  children: SchemaNode[];
  file: string;
  line: number;
}

/** The files of a schema set: bytes by name, and the one whose `documents` element is the root of every document. */
export interface SchemaFiles {
  bytes: ReadonlyMap<string, Buffer>;
  nodes: ReadonlyMap<string, SchemaNode>;
  root: string;
}

/**
 * Reads a folder of XSD files as published. Only files in the folder itself count. Throws PedigreeError
 * `invalid_schema_set` with file and line: no or two roots, an include that is remote, missing or goes round in a
 * circle, what is no XML or no schema, a document type definition, or more than the limits.
 */
export function readSchemaFiles(folder: string): SchemaFiles {
  const names = readdirSync(folder)
    .filter((name) => name.toLowerCase().endsWith('.xsd'))
    .sort();
  if (names.length === 0) throw refused(folder, 0, 'holds no XSD file');
  if (names.length > MOST_FILES)
    throw refused(folder, 0, `holds ${names.length} XSD files; at most ${MOST_FILES} are read`);
  const size = names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  if (size > MOST_BYTES) throw refused(folder, 0, `holds ${size} bytes of XSD files; at most ${MOST_BYTES} are read`);
  const bytes = new Map(names.map((name) => [name, readFileSync(join(folder, name))]));
  const nodes = new Map([...bytes].map(([name, content]) => [name, parseSchema(name, content)]));
  refuseBadIncludes(nodes);
  return { bytes, nodes, root: rootOf(nodes, folder) };
}

/** SHA-256 of the lines `<name> <SHA-256 of its bytes>`, in the order of the names. */
export const digestOf = ({ bytes }: SchemaFiles): Sha256 =>
  sha256Hex([...bytes].map(([name, content]) => `${name} ${sha256Hex(content)}\n`).join(''));

export const refused = (file: string, line: number, why: string): PedigreeError =>
  new PedigreeError('invalid_schema_set', `${file}${line > 0 ? `, line ${line}` : ''}: ${why}`, {
    file,
    ...(line > 0 ? { line } : {}),
  });

function parseSchema(file: string, content: Buffer): SchemaNode {
  const parser = new SaxesParser({ xmlns: true, position: true });
  const open: SchemaNode[] = [];
  let schema: SchemaNode | undefined;
  const fail = (why: string): never => {
    throw refused(file, parser.line, why);
  };
  parser.on('error', (error) => fail(error.message.replace(/^\d+:\d+: /, '')));
  parser.on('doctype', () => fail('a document type definition is not read'));
  parser.on('opentag', ({ local, uri, attributes }) => {
    if (open.length === MOST_DEPTH) fail(`elements stand more than ${MOST_DEPTH} deep`);
    const own = Object.values(attributes).map((one) => [one.local, one.value]);
    const node = { tag: local, attributes: Object.fromEntries(own), children: [], file, line: parser.line };
    if (uri === XSD) open.at(-1)?.children.push(node);
    if (open.length === 0)
      schema = uri === XSD && local === 'schema' ? node : fail(`its root <${local}> is not a schema`);
    open.push(node);
  });
  parser.on('closetag', () => void open.pop());
  parser.write(content.toString('utf8')).close();
  return schema ?? fail('is empty');
}

const LINKS = new Set(['include', 'import', 'redefine']);

/** Files that this one names, with the place. */
const linksOf = (schema: SchemaNode): SchemaNode[] => schema.children.filter((node) => LINKS.has(node.tag));

function refuseBadIncludes(nodes: ReadonlyMap<string, SchemaNode>): void {
  const settled = new Set<string>();
  const visit = (file: string, above: readonly string[]): void => {
    if (settled.has(file)) return;
    for (const link of linksOf(nodes.get(file) as SchemaNode)) {
      const target = targetOf(link);
      if (target === undefined) continue;
      if (!nodes.has(target)) throw refused(file, link.line, `${link.tag} of ${target}, which is not in the folder`);
      const circle = [...above, file];
      if (circle.includes(target))
        throw refused(file, link.line, `includes go round in a circle: ${[...circle, target].join(' > ')}`);
      visit(target, circle);
    }
    settled.add(file);
  };
  for (const file of nodes.keys()) visit(file, []);
}

function targetOf(link: SchemaNode): string | undefined {
  const place = link.attributes.schemaLocation;
  // An import without a place names a namespace that needs no file.
  if (place === undefined) return undefined;
  if (/^[a-z][a-z0-9+.-]*:|^\/|\\|\/\//i.test(place))
    throw refused(
      link.file,
      link.line,
      `${link.tag} of ${place.slice(0, 200)}: only files of the folder are read, nothing is fetched`,
    );
  return place.replace(/^\.\//, '');
}

function rootOf(nodes: ReadonlyMap<string, SchemaNode>, folder: string): string {
  const roots = [...nodes.values()].flatMap((schema) =>
    schema.children.filter((node) => node.tag === 'element' && node.attributes.name === 'documents'),
  );
  const [first, second] = roots;
  if (first === undefined) throw refused(folder, 0, 'no file declares the element <documents>');
  if (second !== undefined)
    throw refused(
      second.file,
      second.line,
      `<documents> is declared a second time; the first is in ${first.file}, line ${first.line}`,
    );
  return first.file;
}
