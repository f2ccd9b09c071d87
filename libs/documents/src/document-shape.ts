import { XMLParser } from 'fast-xml-parser';
import { SCHEMA_VERSION, schemaEntries, schemaFile, SHARED_TYPES } from './schema-set.js';

/**
 * What may stand where, read from the schema files themselves, so that there is no second table that could disagree
 * with them.
 */
export interface ElementShape {
  name: string;
  /** May it repeat? */
  many: boolean;
  attributes: string[];
  /** In schema order; undefined for an element that holds a text. */
  children?: ElementShape[];
}

export interface DocumentShape {
  /** Attributes of `documents` besides `version`. */
  envelope: string[];
  action: ElementShape;
}

/** One XSD node, in the parser's order-preserving form. */
interface Node {
  tag: string;
  attributes: Record<string, string>;
  children: Node[];
}

const shapes = new Map<number, DocumentShape>();
let sharedTypes: Node | undefined;

/** The shape of a known document type. */
export function documentShape(docType: number): DocumentShape {
  const known = shapes.get(docType);
  if (known !== undefined) return known;
  const entry = schemaEntries.find((one) => one.docType === docType);
  if (entry === undefined) throw new Error(`schema set ${SCHEMA_VERSION} has no document type ${docType}`);
  sharedTypes ??= parseSchema(SHARED_TYPES);
  const shape = new SchemaReader(sharedTypes).document(parseSchema(entry.file));
  shapes.set(docType, shape);
  return shape;
}

function parseSchema(file: string): Node {
  const parser = new XMLParser({
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '',
    parseAttributeValue: false,
    ignoreDeclaration: true,
  });
  const nodes = (parser.parse(schemaFile(file)) as Record<string, unknown>[]).map(nodeOf);
  const schema = nodes.find((node) => node.tag === 'schema');
  if (schema === undefined) throw new Error(`${file} is no schema`);
  return schema;
}

function nodeOf(raw: Record<string, unknown>): Node {
  const { ':@': attributes, ...rest } = raw;
  const [[name, children] = ['', []]] = Object.entries(rest);
  return {
    tag: name.replace(/^xs:/, ''),
    attributes: (attributes ?? {}) as Record<string, string>,
    children: Array.isArray(children) ? (children as Record<string, unknown>[]).map(nodeOf) : [],
  };
}

/**
 * Understands the part of XSD that the set is written in: elements, sequences, choices, groups, named and inline types.
 */
class SchemaReader {
  constructor(private readonly types: Node) {}

  document(schema: Node): DocumentShape {
    const root = this.element(this.find(schema, 'element', 'documents'), false);
    const [action] = root.children ?? [];
    if (action === undefined) throw new Error('the schema allows no action element');
    return { envelope: root.attributes.filter((name) => name !== 'version'), action };
  }

  private element(node: Node, inMany: boolean): ElementShape {
    const { name = '', type, maxOccurs } = node.attributes;
    const named =
      type === undefined
        ? undefined
        : this.types.children.find((one) => one.tag === 'complexType' && one.attributes.name === type);
    const complex = named ?? node.children.find((one) => one.tag === 'complexType');
    const children = complex === undefined ? [] : this.children(complex, false);
    return {
      name,
      many: inMany || isMany(maxOccurs),
      attributes: complex === undefined ? [] : this.attributes(complex),
      ...(children.length === 0 ? {} : { children }),
    };
  }

  private children(node: Node, inMany: boolean): ElementShape[] {
    return node.children.flatMap((child) => {
      const many = inMany || isMany(child.attributes.maxOccurs);
      switch (child.tag) {
        case 'element':
          return [this.element(child, inMany)];
        case 'sequence':
        case 'choice':
          return this.children(child, many);
        case 'group':
          return this.children(this.find(this.types, 'group', child.attributes.ref ?? ''), many);
        default:
          return [];
      }
    });
  }

  private attributes(node: Node): string[] {
    return node.children.flatMap((child) => {
      if (child.tag === 'attribute') return [child.attributes.name ?? ''];
      if (child.tag === 'attributeGroup')
        return this.attributes(this.find(this.types, 'attributeGroup', child.attributes.ref ?? ''));
      return child.tag === 'simpleContent' || child.tag === 'extension' ? this.attributes(child) : [];
    });
  }

  private find(among: Node, tag: string, name: string): Node {
    const found = among.children.find((node) => node.tag === tag && node.attributes.name === name);
    if (found === undefined) throw new Error(`the schema set has no ${tag} ${name}`);
    return found;
  }
}

const isMany = (maxOccurs: string | undefined): boolean =>
  maxOccurs !== undefined && maxOccurs !== '0' && maxOccurs !== '1';
