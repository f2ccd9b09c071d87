import type { DocumentTypeFact, ElementFact, Facts, PartFact, UniqueFact } from './facts.js';
import {
  attributes,
  fileOf,
  indented,
  inside,
  isBare,
  isRecursive,
  namedSimpleType,
  occurs,
  simpleType,
  textWithAttributes,
  typeName,
} from './write-schemas.js';

const ROOT = 'root.xsd';
const TYPES = 'base_types.xsd';
const ATTRIBUTES = 'base_attributes.xsd';
const ITEMS = 'base_items.xsd';
const COMMON = 'base_common.xsd';

/** Items that are declared once for all types. */
const SHARED: Readonly<Record<string, string>> = { sgtin: 'sign_sgtin_type', sscc: 'sscc_type' };

/**
 * The facts as another house might publish them, in 111 files: a root with a choice of named types, base files that
 * include each other, types that extend others, groups, attribute groups, references to elements, another prefix. It
 * allows exactly what the built-in set allows.
 */
export function foreignSchemasOf(facts: Facts): Map<string, string> {
  const texts = new Map([
    [ROOT, schema([COMMON, ...facts.types.map(fileOf)], rootElement(facts))],
    [TYPES, schema([], facts.simpleTypes.flatMap(namedSimpleType))],
    [ATTRIBUTES, schema([TYPES], inside('xs:attributeGroup name="envelope"', attributes(facts.envelope)))],
    [
      ITEMS,
      schema(
        [TYPES],
        Object.entries(SHARED).map(([name, type]) => `<xs:element name="${name}" type="${type}"/>`),
      ),
    ],
    [COMMON, schema([TYPES, ATTRIBUTES, ITEMS], basesOf(facts))],
  ]);
  for (const type of facts.types) texts.set(fileOf(type), new ForeignType(type).text());
  return new Map(
    [...texts].map(([name, text]) => [name, text.replace(/\bxs:/g, 'xsd:').replace('xmlns:xs=', 'xmlns:xsd=')]),
  );
}

const schema = (includes: string[], lines: string[]): string =>
  [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified">',
    ...indented([...includes.map((file) => `<xs:include schemaLocation="./${file}"/>`), ...lines]),
    '</xs:schema>\n',
  ].join('\n');

function rootElement({ types }: Facts): string[] {
  const choice = types.map(({ docType, action: { name } }) => `<xs:element name="${name}" type="d${docType}"/>`);
  const content = [...inside('xs:choice', choice), '<xs:attributeGroup ref="envelope"/>'];
  return [
    ...inside('xs:complexType name="envelope_type"', content),
    '<xs:element name="documents" type="envelope_type"/>',
  ];
}

/** The first field of a type, where others may begin with it too. */
function firstField({ children: [first] }: ElementFact): ElementFact | undefined {
  const isPlain = first?.kind === 'element' && first.type?.name !== undefined && first.attributes.length === 0;
  return isPlain && first.min === 1 && first.max === 1 ? first : undefined;
}
const baseName = ({ name, type }: ElementFact): string => `begins_${name}_${type?.name ?? ''}`;

/** Types that others extend. */
function basesOf({ types }: Facts): string[] {
  const first = types.flatMap(({ action }) => firstField(action) ?? []);
  const byName = new Map(first.map((field) => [baseName(field), field]));
  return [...byName].flatMap(([name, { name: field, type }]) =>
    inside(
      `xs:complexType name="${name}"`,
      inside('xs:sequence', [`<xs:element name="${field}" type="${type?.name ?? ''}"/>`]),
    ),
  );
}

/** One type with all that it needs, each part under a name of its own. */
class ForeignType {
  private readonly named: string[] = [];
  private readonly structures = new Set<string>();
  private count = 0;

  constructor(private readonly type: DocumentTypeFact) {}

  text(): string {
    const { docType, action } = this.type;
    const base = firstField(action);
    const rest = base === undefined ? action.children : action.children.slice(1);
    const id = [`<xs:attribute name="action_id" type="xs:int" fixed="${docType}" use="required"/>`];
    const own = [...this.sequence(rest), ...attributes(action.attributes), `<xs:attributeGroup ref="id${docType}"/>`];
    const content =
      base === undefined ? own : inside('xs:complexContent', inside(`xs:extension base="${baseName(base)}"`, own));
    const lines = inside(`xs:complexType name="d${docType}"`, content);
    return schema([COMMON], [...inside(`xs:attributeGroup name="id${docType}"`, id), ...this.named, ...lines]);
  }

  private sequence(parts: readonly PartFact[]): string[] {
    return parts.length === 0
      ? []
      : inside(
          'xs:sequence',
          parts.flatMap((part) => this.part(part)),
        );
  }

  private part(part: PartFact): string[] {
    if (part.kind === 'element') return this.element(part);
    const name = this.next('group');
    const content = inside(
      `xs:${part.kind}`,
      part.children.flatMap((child) => this.part(child)),
    );
    this.named.push(...inside(`xs:group name="${name}"`, content));
    return [`<xs:group ref="${name}"${occurs(part)}/>`];
  }

  private element(element: ElementFact): string[] {
    const { name, type, default: initial } = element;
    if (type === undefined) return this.withChildren(element);
    if (element.attributes.length > 0) {
      const own = this.next('text');
      this.named.push(...inside(`xs:complexType name="${own}"`, textWithAttributes(element).slice(1, -1)));
      return [`<xs:element name="${name}" type="${own}"${occurs(element)}/>`];
    }
    if (SHARED[name] === type.name && initial === undefined && type.name !== undefined)
      return [`<xs:element ref="${name}"${occurs(element)}/>`];
    const tag = `xs:element name="${name}"${initial === undefined ? '' : ` default="${initial}"`}`;
    if (type.name !== undefined || isBare(type)) return [`<${tag} type="${typeName(type)}"${occurs(element)}/>`];
    return inside(`${tag}${occurs(element)}`, simpleType(type));
  }

  private withChildren(element: ElementFact): string[] {
    const tag = `xs:element name="${element.name}" type="${this.typeOf(element)}"${occurs(element)}`;
    return element.unique.length === 0
      ? [`<${tag}/>`]
      : inside(
          tag,
          element.unique.flatMap((one) => this.unique(one)),
        );
  }

  private typeOf(element: ElementFact): string {
    const { structure, asAbove, children } = element;
    const isNamed = structure !== undefined && (asAbove === true || isRecursive(element));
    const name = isNamed ? `${structure}_${this.type.docType}` : this.next(element.name);
    if (asAbove === true || this.structures.has(name)) return name;
    this.structures.add(name);
    const lines = [...this.sequence(children), ...attributes(element.attributes)];
    this.named.push(...inside(`xs:complexType name="${name}"`, lines));
    return name;
  }

  private unique({ selector, field }: UniqueFact): string[] {
    return inside(`xs:unique name="${this.next('once')}"`, [
      `<xs:selector xpath="${selector}"/>`,
      `<xs:field xpath="${field}"/>`,
    ]);
  }

  private next(what: string): string {
    this.count += 1;
    return `${what}_${this.type.docType}_${this.count}`;
  }
}
