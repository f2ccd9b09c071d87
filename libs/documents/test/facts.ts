import { readFileSync } from 'node:fs';

/** A simple type: what a text may be. */
export interface SimpleFact {
  /** Undefined for one that stands where it is used. */
  name?: string;
  /** `string`, `token`, `int`, `decimal`, `dateTime`, `boolean`, or `date` and `instant` of this notation. */
  base: string;
  oneOf?: string[];
  pattern?: string;
  noBlankEnds?: boolean;
  length?: number;
  minLength?: number;
  maxLength?: number;
  totalDigits?: number;
  fractionDigits?: number;
  minInclusive?: number;
  meaning?: string;
}

interface Occurs {
  min: number;
  /** Infinity for n. */
  max: number;
}

export interface UniqueFact {
  /** Path of the elements, alternatives parted by `|`. */
  selector: string;
  field: string;
}

export interface AttributeFact {
  name: string;
  required: boolean;
  type: SimpleFact;
}

export interface ElementFact extends Occurs {
  kind: 'element';
  name: string;
  /** Of its text; undefined for an element with children. */
  type?: SimpleFact;
  /** Name of its structure, where it has one. */
  structure?: string;
  /** The structure is the one of this name that stands around it. */
  asAbove?: boolean;
  default?: string;
  attributes: AttributeFact[];
  unique: UniqueFact[];
  children: PartFact[];
}

export interface GroupFact extends Occurs {
  kind: 'choice' | 'sequence';
  children: PartFact[];
}

export type PartFact = ElementFact | GroupFact;

export interface DocumentTypeFact {
  docType: number;
  title: string;
  action: ElementFact;
}

export interface Facts {
  envelope: AttributeFact[];
  types: DocumentTypeFact[];
  simpleTypes: SimpleFact[];
}

/** The facts of all document types (facts/1.38.txt, whose head tells the notation). */
export function readFacts(): Facts {
  const text = readFileSync(new URL('../facts/1.38.txt', sourcesOf(import.meta.url)), 'utf8');
  const [head = '', ...sections] = text.split(/^## /m);
  const simple = sections.pop() ?? '';
  const simpleTypes = [...simple.matchAll(/^- (\w+): (.+)$/gm)].map(([, name = '', rest = '']) => ({
    name,
    ...simpleType(rest),
  }));
  const reader = new FactsReader(new Map(simpleTypes.map((type) => [type.name, type])));
  return { envelope: reader.attributes(head), types: sections.map((one) => reader.documentType(one)), simpleTypes };
}

const sourcesOf = (url: string): string => url.replace('/dist/libs/', '/libs/');

/** What the facts call by name, and XSD has already. */
const BUILT_IN = ['string', 'int', 'boolean', 'dateTime'];

class FactsReader {
  constructor(private readonly simpleTypes: ReadonlyMap<string, SimpleFact>) {}

  attributes(text: string): AttributeFact[] {
    return [...text.matchAll(/^ +@(\w+) (\S+) (.+)$/gm)].map(([, name = '', occurs = '', type = '']) => ({
      name,
      required: occursOf(occurs).min === 1,
      type: this.simple(type),
    }));
  }

  documentType(section: string): DocumentTypeFact {
    const [first = '', ...lines] = section.split('\n').filter((line) => line.trim() !== '');
    const [, number, name = '', title = ''] = /^(\d+) `(\w+)`: (.+)$/.exec(first) ?? [];
    const action: ElementFact = { ...this.element(`${name} 1`), min: 1, max: 1 };
    const open: { depth: number; part: PartFact }[] = [{ depth: 2, part: action }];
    for (const line of lines) {
      const depth = line.search(/\S/);
      while ((open.at(-1)?.depth ?? 0) >= depth) open.pop();
      const around = open.at(-1)?.part;
      if (around === undefined) throw new Error(`facts of ${number}: "${line}" stands in nothing`);
      const part = this.line(line.trim(), around);
      if (part === undefined) continue;
      around.children.push(part);
      open.push({ depth, part });
    }
    return { docType: Number(number), title, action };
  }

  /** Adds what the line says to the part around it, or answers with a part of its own. */
  private line(line: string, around: PartFact): PartFact | undefined {
    const group = /^\((choice|sequence)\) (\S+)$/.exec(line);
    if (group !== null) return { kind: group[1] as 'choice', ...occursOf(group[2] ?? ''), children: [] };
    if (/^[@!.]|^text /.test(line)) {
      if (around.kind !== 'element') throw new Error(`facts: "${line}" stands in no element`);
      this.addTo(around, line);
      return undefined;
    }
    return this.element(line);
  }

  private addTo(element: ElementFact, line: string): void {
    const unique = /^! unique: (\S+) by (\S+)$/.exec(line);
    if (unique !== null) element.unique.push({ selector: unique[1] ?? '', field: unique[2] ?? '' });
    else if (line === '... as above') element.asAbove = true;
    else if (line.startsWith('text ')) element.type = this.simple(line.slice('text '.length));
    else element.attributes.push(...this.attributes(` ${line}`));
  }

  private element(line: string): ElementFact {
    const [, name, occurs = '', rest = ''] = /^(\w+) (\S+)(?: (.+))?$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`facts: "${line}" is no field`);
    const element: ElementFact = {
      kind: 'element',
      name,
      ...occursOf(occurs),
      attributes: [],
      unique: [],
      children: [],
    };
    if (rest.startsWith(': ')) return { ...element, structure: rest.slice(': '.length) };
    const [type = '', initial] = rest.split(' = ');
    if (initial !== undefined) element.default = initial;
    return type === '' ? element : { ...element, type: this.simple(type) };
  }

  private simple(text: string): SimpleFact {
    if (text.startsWith('(')) return simpleType(text.slice(1, -1));
    const type = this.simpleTypes.get(text) ?? (BUILT_IN.includes(text) ? { base: text } : undefined);
    if (type === undefined) throw new Error(`facts: no simple type ${text}`);
    return type;
  }
}

function occursOf(text: string): Occurs {
  const [min = '', max = min] = text.split('..');
  return { min: Number(min), max: max === 'n' ? Number.POSITIVE_INFINITY : Number(max) };
}

/** `string; length 14; like [0-9]{14}. Meaning: ...` */
function simpleType(text: string): SimpleFact {
  const [rules = '', meaning] = text.split('. Meaning: ');
  const about = meaning === undefined ? {} : { meaning };
  if (rules.startsWith('DD.MM.YYYY')) return { base: 'date', ...about };
  if (rules.startsWith('dateTime with a zone')) return { base: 'instant', ...about };
  const [base = '', ...facets] = rules.split('; ');
  return Object.assign({ base, ...about }, ...facets.map(facet)) as SimpleFact;
}

function facet(text: string): Partial<SimpleFact> {
  if (text.startsWith('one of ')) return { oneOf: text.slice('one of '.length).split(', ') };
  if (text.startsWith('like ')) return { pattern: text.slice('like '.length) };
  if (text.startsWith('no blank at either end')) return { noBlankEnds: true };
  const [, name = '', value] =
    /^(length|minLength|maxLength|totalDigits|fractionDigits|minInclusive) (\d+)$/.exec(text) ?? [];
  if (value === undefined) throw new Error(`facts: "${text}" is no rule for a text`);
  return { [name]: Number(value) };
}
