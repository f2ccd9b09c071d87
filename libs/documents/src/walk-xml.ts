import { readPlain } from './xml/plain.js';
import { readBySaxes } from './xml/saxes.js';
import { textOf, xmlError } from './xml/text.js';
import type { XmlTokens } from './xml/tokens.js';

/** Deepest nesting; the schema set needs 8. */
const MAX_DEPTH = 32;
/** Longest attribute, and text of one element where nothing else is said; the schema set allows 4,000. */
const MAX_VALUE_CHARACTERS = 65_536;

export interface XmlLeaf {
  name: string;
  /** The root element is at depth 0. */
  depth: number;
  text: string;
  /** False when a comment or a CDATA section stands inside. */
  plain: boolean;
  line: number;
}

type Attributes = Readonly<Record<string, string>>;

/** Hears the elements of a document in order. What it throws ends the walk. */
export interface XmlListener {
  open(name: string, attributes: Attributes, at: { depth: number; line: number }): void;
  /** An element without child elements ended. */
  leaf(leaf: XmlLeaf): void;
  /** An element with child elements ended. */
  close(name: string, depth: number): void;
}

/**
 * Reads UTF-8 XML without a tree. Refuses with PedigreeError: `body_too_large`; `malformed_xml`; `forbidden_xml` for
 * all that these documents never need and that has been used against readers: document type declarations, entities,
 * processing instructions, elements and attributes in namespaces, other encodings, deep nesting; `schema_violation` for
 * text between elements and for overlong values. Declarations of prefixes that nothing uses, and places of schemas,
 * mean nothing here: they are passed over, and nothing is fetched.
 */
export function walkXml(
  bytes: Uint8Array,
  listener: XmlListener,
  options: { /** Of the text of one element. */ mostCharacters?: number } = {},
): void {
  const text = textOf(bytes);
  const walk = new Walk(listener, options.mostCharacters);
  const stoppedAt = readPlain(text, walk);
  if (stoppedAt !== undefined) readBySaxes(text, walk, stoppedAt);
}

/** The state of one walk: how deep it is, and the text since the last tag. */
export class Walk implements XmlTokens {
  private depth = -1;
  private deepest = -1;
  private value = '';
  private plain = true;
  /** Namespaces by their prefixes, as they were declared last. */
  private readonly prefixes = new Map<string, string>();

  constructor(
    private readonly listener: XmlListener,
    private readonly mostCharacters = MAX_VALUE_CHARACTERS,
  ) {}

  open(name: string, attributes: Attributes, line: number): void {
    this.refuseStrayText(name, line);
    this.depth += 1;
    this.deepest = this.depth;
    this.plain = true;
    if (this.depth >= MAX_DEPTH)
      throw xmlError('forbidden_xml', `elements are nested more than ${MAX_DEPTH} deep`, { line, element: name });
    if (name.includes(':'))
      throw xmlError('forbidden_xml', `<${name}> has a namespace prefix; these documents have no namespaces`, {
        line,
        element: name,
      });
    this.listener.open(name, this.withoutNamespaces(attributes, line), { depth: this.depth, line });
  }

  /** The attributes that belong to the document. Throws for one in a namespace, and for an overlong one. */
  private withoutNamespaces(attributes: Attributes, line: number): Attributes {
    let others: Record<string, string> | undefined;
    for (const attribute in attributes) {
      const value = attributes[attribute] as string;
      refuseOverlong(attribute, value, line);
      if (attribute !== 'xmlns' && !attribute.includes(':')) continue;
      if (attribute.startsWith(PREFIX)) this.prefixes.set(attribute.slice(PREFIX.length), value);
      others ??= { ...attributes };
      delete others[attribute];
    }
    if (others === undefined) return attributes;
    this.refuseMeaningful(attributes, line);
    return others;
  }

  /** A declaration may follow its use, so this runs once all of them are known. */
  private refuseMeaningful(attributes: Attributes, line: number): void {
    for (const attribute in attributes) {
      const [prefix = '', name, ...more] = attribute.split(':');
      const isNothing =
        name === undefined
          ? attribute !== 'xmlns' || attributes[attribute] === ''
          : prefix === 'xmlns' || (this.prefixes.get(prefix) === SCHEMA_INSTANCE && SCHEMA_PLACES.has(name));
      if (!isNothing || more.length > 0 || name === '')
        throw xmlError('forbidden_xml', `attribute ${attribute}: these documents have no namespaces`, { line });
    }
  }

  close(name: string, line: number): void {
    if (this.deepest === this.depth) {
      this.listener.leaf({ name, depth: this.depth, text: this.value, plain: this.plain, line });
      this.value = '';
    } else {
      this.refuseStrayText(name, line);
      this.listener.close(name, this.depth);
    }
    this.depth -= 1;
  }

  text(part: string, line: number): void {
    if (this.value.length + part.length > this.mostCharacters)
      throw xmlError('schema_violation', `a text is longer than ${this.mostCharacters} characters`, { line });
    this.value += part;
  }

  broken(part: string, line: number): void {
    this.plain = false;
    this.text(part, line);
  }

  private refuseStrayText(name: string, line: number): void {
    if (this.value === '') return;
    if (this.value.trim() !== '')
      throw xmlError('schema_violation', `text stands between elements, near <${name}>`, {
        line,
        element: name,
      });
    this.value = '';
  }
}

const PREFIX = 'xmlns:';
/** XML Schema part 1, 2.6: attributes of its own in any document. */
const SCHEMA_INSTANCE = 'http://www.w3.org/2001/XMLSchema-instance';
const SCHEMA_PLACES = new Set(['schemaLocation', 'noNamespaceSchemaLocation']);

function refuseOverlong(name: string, value: string, line: number): void {
  if (value.length > MAX_VALUE_CHARACTERS)
    throw xmlError('schema_violation', `attribute ${name} is longer than ${MAX_VALUE_CHARACTERS} characters`, { line });
}
