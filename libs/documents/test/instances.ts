import fc from 'fast-check';
import type { JsonObject, JsonValue } from '#kernel';
import type { DocumentTypeFact, ElementFact, GroupFact, PartFact, SimpleFact, UniqueFact } from './facts.js';

/** An element of a made-up document, with the fact that it follows. */
export interface Instance {
  fact: ElementFact;
  attributes: Record<string, string>;
  text?: string;
  children: Instance[];
}

/** Lists that may be long have at most so many rows here. */
const MOST_ROWS = 3;
/** A structure that stands in itself ends at this depth. */
const MOST_DEPTH = 12;

/** Documents of a type as the facts allow them. */
export function instancesOf({ docType, action }: DocumentTypeFact): fc.Arbitrary<Instance> {
  return element(action, [])
    .map((one) => ({ ...one, attributes: { action_id: String(docType), ...one.attributes } }))
    .filter((one) => keepsUnique(one));
}

/** The text of a document, in its envelope. */
export const xmlOf = (action: Instance, version = '1.38'): string =>
  `<documents version="${version}">${written(action)}</documents>`;

/** What an ERP gives for the same document without XML; a choice loses the order of its alternatives. */
export function jsonOf({ attributes, children }: Instance): JsonObject {
  const { action_id: docType = '', ...others } = attributes;
  return { ...others, ...fieldsOf(children), ...(docType === '' ? {} : { action_id: Number(docType) }) };
}

function fieldsOf(children: Instance[]): JsonObject {
  const fields: JsonObject = {};
  for (const child of children) {
    const { name } = child.fact;
    const known = fields[name];
    const value = valueOf(child);
    fields[name] = known === undefined ? value : [...(Array.isArray(known) ? known : [known]), value];
  }
  return fields;
}

function valueOf(one: Instance): JsonValue {
  if (one.text === undefined) return jsonOf(one);
  return one.fact.attributes.length === 0 ? one.text : { value: one.text, ...one.attributes };
}

function written({ fact, attributes, text, children }: Instance): string {
  const own = Object.entries(attributes).map(([name, value]) => ` ${name}="${escaped(value)}"`);
  const inside = text === undefined ? children.map(written).join('') : escaped(text);
  return `<${fact.name}${own.join('')}>${inside}</${fact.name}>`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

function element(fact: ElementFact, around: readonly ElementFact[]): fc.Arbitrary<Instance> {
  const attributes = fc.record(Object.fromEntries(fact.attributes.map(({ name, type }) => [name, textOf(type)])), {
    requiredKeys: fact.attributes.filter((one) => one.required).map((one) => one.name),
  }) as fc.Arbitrary<Record<string, string>>;
  if (fact.type !== undefined)
    return fc.record({ fact: fc.constant(fact), attributes, text: textOf(fact.type), children: fc.constant([]) });
  const content = fact.asAbove === true ? around.find((one) => one.structure === fact.structure) : fact;
  const within = [...around, fact];
  const children = sequence((content ?? fact).children, within);
  return fc.record({ fact: fc.constant(fact), attributes, children });
}

const sequence = (parts: PartFact[], within: readonly ElementFact[]): fc.Arbitrary<Instance[]> =>
  fc.tuple(...parts.map((part) => repeated(part, within))).map((lists) => lists.flat());

function repeated(part: PartFact, within: readonly ElementFact[]): fc.Arbitrary<Instance[]> {
  const isDeep = within.length >= MOST_DEPTH;
  const most = isDeep ? part.min : Math.max(part.min, Math.min(part.max, MOST_ROWS));
  if (most === 0) return fc.constant([]);
  const one = part.kind === 'element' ? element(part, within).map((instance) => [instance]) : group(part, within);
  return fc.array(one, { minLength: part.min, maxLength: most }).map((lists) => lists.flat());
}

const group = ({ kind, children }: GroupFact, within: readonly ElementFact[]): fc.Arbitrary<Instance[]> =>
  kind === 'choice' ? fc.oneof(...children.map((child) => repeated(child, within))) : sequence(children, within);

const PLAIN = 'abcXYZ019 -/\\&<>"\'«»№йцу';
const ZONES = ['Z', '+03:00', '-11:30'];

const texts = new Map<SimpleFact, fc.Arbitrary<string>>();

/** Texts that a simple type allows. Each is made once: what makes texts of a pattern is costly to build. */
export function textOf(type: SimpleFact): fc.Arbitrary<string> {
  const known = texts.get(type);
  if (known !== undefined) return known;
  const made = textsLike(type);
  texts.set(type, made);
  return made;
}

function textsLike(type: SimpleFact): fc.Arbitrary<string> {
  if (type.oneOf !== undefined) return fc.constantFrom(...type.oneOf);
  if (type.pattern !== undefined) return fc.stringMatching(new RegExp(`^(?:${type.pattern})$`)).filter(fits(type));
  switch (type.base) {
    case 'date':
      return day.map(({ year, month, date }) => `${two(date)}.${two(month)}.${year}`);
    case 'instant':
    case 'dateTime':
      return fc
        .tuple(day, fc.nat(23), fc.constantFrom(...ZONES))
        .map(([{ year, month, date }, hour, zone]) => `${year}-${two(month)}-${two(date)}T${two(hour)}:15:00${zone}`);
    case 'boolean':
      return fc.constantFrom('true', 'false', '1', '0');
    case 'int':
      return fc.integer({ min: 1, max: 99 }).map(String);
    case 'decimal':
      return money(type);
    default:
      return plainText(type);
  }
}

const two = (number: number): string => String(number).padStart(2, '0');

const day = fc
  .tuple(fc.integer({ min: 2001, max: 2099 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 31 }))
  .map(([year, month, date]) => ({
    year,
    month,
    date: Math.min(date, new Date(Date.UTC(year, month, 0)).getUTCDate()),
  }));

const money = ({ minInclusive }: SimpleFact): fc.Arbitrary<string> =>
  fc
    .tuple(fc.integer({ min: minInclusive ?? -999_999, max: 999_999_999 }), fc.nat(99), fc.boolean())
    .map(([whole, cents, isRound]) => (isRound ? String(whole) : `${whole}.${two(cents)}`));

function plainText(type: SimpleFact): fc.Arbitrary<string> {
  const { length, minLength = 1, maxLength = 60, noBlankEnds } = type;
  const limits = { minLength: length ?? minLength, maxLength: length ?? Math.min(maxLength, 60) };
  const plain = fc.string({ unit: fc.constantFrom(...PLAIN), ...limits });
  return noBlankEnds === true ? plain.filter((text) => text === text.trim()) : plain;
}

const fits =
  ({ length, minLength = 0, maxLength = Infinity }: SimpleFact) =>
  (text: string): boolean =>
    text.length >= (length ?? minLength) && text.length <= (length ?? maxLength);

/** A text that the type does not allow; undefined when it allows every text. */
function wrongTextFor(type: SimpleFact): string | undefined {
  if (type.noBlankEnds === true) return ' outer blank';
  if (type.oneOf !== undefined || type.pattern !== undefined) return 'none of these';
  switch (type.base) {
    case 'date':
      return '31.02.2026';
    case 'instant':
      return '2026-11-20T10:15:00';
    case 'dateTime':
      return '2026-02-30T10:15:00Z';
    case 'decimal':
      return type.fractionDigits === undefined ? 'much' : '1.234';
    case 'boolean':
      return 'yes';
    case 'int':
      return '1.5';
    default:
      return type.length === undefined ? undefined : 'x'.repeat(type.length + 1);
  }
}

/** One thing that is wrong with a document, in words, and the document. */
export interface Fault {
  what: string;
  xml: string;
}

/** The document with one fault each: every kind of fault that there is a place for, at the first such place. */
export function faultsOf(action: Instance): Fault[] {
  const faults: (Fault | undefined)[] = [...FAULTS].map(([what, spoil]) => {
    for (const path of pathsOf(action)) {
      const changed = spoiledAt(action, path, spoil);
      if (changed !== undefined) return { what: `${what} at ${changed.name}`, xml: xmlOf(changed.action) };
    }
    return undefined;
  });
  const unknown = { fact: { ...action.fact, name: 'colour' }, attributes: {}, text: 'red', children: [] };
  return [
    ...faults.filter((fault) => fault !== undefined),
    { what: 'an unknown field', xml: xmlOf({ ...action, children: [...action.children, unknown] }) },
    { what: 'an unknown attribute', xml: xmlOf({ ...action, attributes: { ...action.attributes, colour: 'red' } }) },
  ];
}

/** Answers the element with the fault, or undefined where it has no place for it. */
type Spoil = (instance: Instance) => Instance | undefined;

const FAULTS = new Map<string, Spoil>([
  [
    'a text that is not allowed',
    (one) => {
      const text = one.fact.type && one.text !== undefined ? wrongTextFor(one.fact.type) : undefined;
      return text === undefined ? undefined : { ...one, text };
    },
  ],
  [
    'a missing field',
    (one) => {
      const at = one.children.findIndex(({ fact }) => isNeeded(fact, one));
      return at < 0 ? undefined : { ...one, children: one.children.filter((_, i) => i !== at) };
    },
  ],
  [
    'a field twice',
    (one) => {
      const at = one.children.findIndex(({ fact }) => fact.max === 1 && one.fact.children.includes(fact));
      const child = one.children[at];
      return child === undefined ? undefined : { ...one, children: one.children.toSpliced(at, 0, child) };
    },
  ],
  [
    'fields in another order',
    (one) => {
      const at = one.children.findIndex(
        ({ fact }, i) =>
          one.fact.children.includes(fact) &&
          one.children[i + 1] !== undefined &&
          one.children[i + 1]?.fact.name !== fact.name &&
          one.fact.children.includes((one.children[i + 1] as Instance).fact),
      );
      if (at < 0) return undefined;
      const [first, second] = one.children.slice(at, at + 2) as [Instance, Instance];
      return { ...one, children: one.children.toSpliced(at, 2, second, first) };
    },
  ],
  ['an item twice', (one) => one.fact.unique.map((unique) => repeatedItem(one, unique)).find((done) => done)],
  [
    'an attribute that is not allowed',
    (one) => {
      const [name] = Object.keys(one.attributes).filter((each) => each !== 'action_id');
      return name === undefined ? undefined : { ...one, attributes: { ...one.attributes, [name]: 'a third' } };
    },
  ],
]);

/** Must it stand there by itself, and not as one of a choice? */
const isNeeded = (fact: ElementFact, { fact: around, children }: Instance): boolean =>
  fact.min === 1 &&
  fact.max === 1 &&
  around.children.includes(fact) &&
  children.filter((one) => one.fact === fact).length === 1;

/** The first element that the rule selects, with its row, once more. */
function repeatedItem(one: Instance, unique: UniqueFact): Instance | undefined {
  const at = one.children.findIndex((child) => uniqueTexts(child, unique).length > 0);
  const row = one.children[at];
  return row === undefined ? undefined : { ...one, children: one.children.toSpliced(at, 0, row) };
}

/** Elements that the paths select, in a child that they may begin with. */
const selected = (child: Instance, selector: string): Instance[] =>
  selector.split('|').flatMap((path) => {
    const [first, ...rest] = path.split('/');
    if (child.fact.name !== first) return [];
    return rest.reduce(
      (found, name) => found.flatMap((one) => one.children.filter(({ fact }) => fact.name === name)),
      [child],
    );
  });

const uniqueTexts = (child: Instance, { selector, field }: UniqueFact): string[] =>
  selected(child, selector).flatMap(
    (each) => (field === '.' ? each.text : each.children.find(({ fact }) => fact.name === field)?.text) ?? [],
  );

/** Random identifiers may repeat by chance; a valid document repeats none where the facts forbid it. */
function keepsUnique(one: Instance): boolean {
  const isOnce = (unique: UniqueFact): boolean => {
    const texts = one.children.flatMap((child) => uniqueTexts(child, unique));
    return new Set(texts).size === texts.length;
  };
  return one.fact.unique.every(isOnce) && one.children.every(keepsUnique);
}

/** Paths to all elements, by the places of the children, the outermost first. */
function pathsOf(one: Instance): number[][] {
  return [[], ...one.children.flatMap((child, i) => pathsOf(child).map((path) => [i, ...path]))];
}

function spoiledAt(
  one: Instance,
  [at, ...rest]: number[],
  spoil: Spoil,
): { action: Instance; name: string } | undefined {
  if (at === undefined) {
    const action = spoil(one);
    return action && { action, name: one.fact.name };
  }
  const below = spoiledAt(one.children[at] as Instance, rest, spoil);
  return below && { action: { ...one, children: one.children.with(at, below.action) }, name: below.name };
}
