import type { AttributeFact, DocumentTypeFact, ElementFact, Facts, PartFact, SimpleFact } from './facts.js';

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n';
const OPEN = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified">';

const ROOT_FILE = 'documents.xsd';
const TYPES_FILE = 'types.xsd';

/** Name of the file that holds a type of the set. */
export const fileOf = ({ docType, action }: DocumentTypeFact): string => `${docType}-${action.name}.xsd`;

/** The schema set that the facts describe: text by file name, and an index for programs that read it as data. */
export function schemasOf(facts: Facts): Map<string, string> {
  const files = new Map([
    [ROOT_FILE, rootFile(facts)],
    [TYPES_FILE, schema('What the documents of this set have in common.', facts.simpleTypes.flatMap(namedSimpleType))],
  ]);
  for (const type of facts.types) files.set(fileOf(type), typeFile(type));
  files.set('index.json', `[\n${facts.types.map(indexLine).join(',\n')}\n]\n`);
  return files;
}

const schema = (about: string, lines: string[]): string =>
  `${HEAD}<!-- ${about} Written from facts/1.38.txt. -->\n${OPEN}\n${indented(lines).join('\n')}\n</xs:schema>\n`;

export const indented = (lines: string[]): string[] => lines.map((line) => `  ${line}`);

export const inside = (tag: string, lines: string[]): string[] => [
  `<${tag}>`,
  ...indented(lines),
  `</${tag.split(' ')[0]}>`,
];

function rootFile({ envelope, types }: Facts): string {
  const elements = types.map(({ action: { name } }) => `<xs:element name="${name}" type="${name}"/>`);
  const content = [...inside('xs:choice', elements), ...attributes(envelope)];
  return schema('Every document: one action element in its envelope.', [
    ...[TYPES_FILE, ...types.map(fileOf)].map(include),
    ...inside('xs:element name="documents"', inside('xs:complexType', content)),
  ]);
}

const include = (file: string): string => `<xs:include schemaLocation="${file}"/>`;

function typeFile({ docType, title, action }: DocumentTypeFact): string {
  if (action.unique.length > 0) throw new Error(`${docType}: unique among the fields themselves`);
  const writer = new TypeWriter(docType);
  const own = inside(`xs:complexType name="${action.name}"`, [
    ...writer.content(action),
    `<xs:attribute name="action_id" type="xs:int" fixed="${docType}" use="required"/>`,
  ]);
  return schema(`${docType}: ${title}.`, [include(TYPES_FILE), ...own, ...writer.structures.values()].flat());
}

class TypeWriter {
  /** Lines of the structures that stand within themselves, by name. */
  readonly structures = new Map<string, string[]>();
  private uniques = 0;

  constructor(private readonly docType: number) {}

  /** What stands inside the element's complexType. */
  content({ children, attributes: own }: ElementFact): string[] {
    const [first] = children;
    const alone = children.length === 1 && first !== undefined && first.kind !== 'element';
    const parts = children.flatMap((child) => this.part(child));
    return [...(alone ? parts : inside('xs:sequence', parts)), ...attributes(own)];
  }

  private part(part: PartFact): string[] {
    if (part.kind === 'element') return this.element(part);
    return inside(
      `xs:${part.kind}${occurs(part)}`,
      part.children.flatMap((child) => this.part(child)),
    );
  }

  private element(element: ElementFact): string[] {
    const { name, type, structure, asAbove } = element;
    const initial = element.default === undefined ? '' : ` default="${element.default}"`;
    const tag = `xs:element name="${name}"`;
    if (structure !== undefined && (asAbove === true || isRecursive(element)))
      return [`<${tag} type="${this.structure(structure, element)}"${occurs(element)}/>`];
    if (type === undefined) {
      const unique = element.unique.flatMap((one) => this.unique(one));
      return inside(`${tag}${occurs(element)}`, [...inside('xs:complexType', this.content(element)), ...unique]);
    }
    if (element.attributes.length > 0) return inside(`${tag}${occurs(element)}`, textWithAttributes(element));
    if (type.name !== undefined || isBare(type))
      return [`<${tag} type="${typeName(type)}"${occurs(element)}${initial}/>`];
    return inside(`${tag}${occurs(element)}`, simpleType(type));
  }

  private structure(name: string, element: ElementFact): string {
    if (element.asAbove === true || this.structures.has(name)) return name;
    this.structures.set(name, []);
    this.structures.set(name, inside(`xs:complexType name="${name}"`, this.content(element)));
    return name;
  }

  private unique({ selector, field }: ElementFact['unique'][number]): string[] {
    this.uniques += 1;
    return inside(`xs:unique name="once_${this.docType}_${this.uniques}"`, [
      `<xs:selector xpath="${selector}"/>`,
      `<xs:field xpath="${field}"/>`,
    ]);
  }
}

export function textWithAttributes({ type, attributes: own }: ElementFact): string[] {
  const extension = inside(`xs:extension base="${typeName(type as SimpleFact)}"`, attributes(own));
  return inside('xs:complexType', inside('xs:simpleContent', extension));
}

/** Does its structure stand somewhere inside it again? */
export function isRecursive({ structure, children }: ElementFact): boolean {
  const repeats = (part: PartFact): boolean =>
    (part.kind === 'element' && part.asAbove === true && part.structure === structure) || part.children.some(repeats);
  return children.some(repeats);
}

export const occurs = ({ min, max }: PartFact): string =>
  `${min === 1 ? '' : ` minOccurs="${min}"`}${max === 1 ? '' : ` maxOccurs="${max === Infinity ? 'unbounded' : max}"`}`;

export const attributes = (facts: AttributeFact[]): string[] =>
  facts.map(
    ({ name, required, type }) =>
      `<xs:attribute name="${name}" type="${typeName(type)}"${required ? ' use="required"' : ''}/>`,
  );

export const isBare = (type: SimpleFact): boolean => type.name === undefined && Object.keys(type).length === 1;

export const typeName = (type: SimpleFact): string => type.name ?? `xs:${type.base}`;

export const namedSimpleType = (type: SimpleFact): string[] =>
  type.name === undefined ? [] : simpleType(type, ` name="${type.name}"`);

/** A day that exists, DD.MM.YYYY. */
const DAY =
  '(0[1-9]|1[0-9]|2[0-8])\\.(0[1-9]|1[0-2])\\.[0-9]{4}|(29|30)\\.(0[13-9]|1[0-2])\\.[0-9]{4}|' +
  '31\\.(0[13578]|1[02])\\.[0-9]{4}|29\\.02\\.([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)';

export function simpleType(type: SimpleFact, name = ''): string[] {
  const { base, meaning } = type;
  const about = meaning === undefined ? [] : inside('xs:annotation', [documentation(meaning)]);
  const [xsdBase, facets] =
    base === 'date'
      ? ['string', [facet('pattern', DAY)]]
      : base === 'instant'
        ? ['dateTime', [facet('pattern', '[0-9]{4}-.+(Z|[+\\-][0-9]{2}:[0-9]{2})')]]
        : [base, facetsOf(type)];
  return inside(`xs:simpleType${name}`, [...about, ...inside(`xs:restriction base="xs:${xsdBase}"`, facets)]);
}

const documentation = (text: string): string => `<xs:documentation>${text}</xs:documentation>`;

const facet = (name: string, value: string | number): string => `<xs:${name} value="${value}"/>`;

const PLAIN_FACETS = ['length', 'minLength', 'maxLength', 'totalDigits', 'fractionDigits', 'minInclusive'] as const;

function facetsOf(type: SimpleFact): string[] {
  const plain = PLAIN_FACETS.flatMap((name) => (type[name] === undefined ? [] : facet(name, type[name])));
  const pattern = type.noBlankEnds === true ? '\\S([\\s\\S]*\\S)?' : type.pattern;
  return [
    ...plain,
    ...(pattern === undefined ? [] : [facet('pattern', pattern)]),
    ...(type.oneOf ?? []).map((one) => facet('enumeration', one)),
  ];
}

function indexLine(type: DocumentTypeFact): string {
  const { docType, action } = type;
  const most = mostItems(action);
  const limit = Number.isFinite(most) ? { maxItems: most } : {};
  return `  ${JSON.stringify({ docType, element: action.name, ...limit })}`;
}

const IDENTIFIER = /^(sgtin|sscc|sscc_up|sscc_down|object_id)$/;

/** The widest list that SGTINs or SSCCs stand in; 0 for a document that names none, Infinity for one without limit. */
function mostItems(part: PartFact): number {
  if (part.kind === 'element' && IDENTIFIER.test(part.name)) return part.max;
  const inner = Math.max(0, ...part.children.map(mostItems));
  return inner === 0 ? 0 : Math.max(part.max, inner);
}
