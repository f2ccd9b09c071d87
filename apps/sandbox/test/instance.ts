import fc from 'fast-check';
import { readFacts, type ElementFact, type PartFact, type SimpleFact } from '../../../libs/documents/test/facts.js';
import { textOf } from '../../../libs/documents/test/instances.js';
import { defaultWorldFile, schemasFolder } from '../src/data-files.js';
import { Schemas } from '../src/documents/schemas.js';
import { loadWorld } from '../src/packs/world.js';

/** Field -> its text, or the texts of its repetitions; a key of a participant stands for his place or system id. */
export type Values = Record<string, string | string[]>;

export const FACTS = readFacts().types;
const BY_TYPE = new Map(FACTS.map((fact) => [fact.docType, fact]));
const { participants } = loadWorld(defaultWorldFile());
let written = 0;

/** The shortest document of a type that has the fields of `values`; no two have the same bytes. */
export function documentOf(docType: number, values: Values): string {
  const fact = BY_TYPE.get(docType);
  if (fact === undefined) throw new Error(`the facts know no ${docType}`);
  const body = fact.action.children.map((part) => partOf(part, values)).join('');
  const { name } = fact.action;
  written += 1;
  const action = `<${name} action_id="${docType}">${body}</${name}>`;
  return `<documents version="1.38" session_ui="${written}">${action}</documents>`;
}

function partOf(part: PartFact, values: Values): string {
  if (part.min === 0 && !isWanted(part, values)) return '';
  const rows = part.max > 1 && has(part, 'sgtin') && Array.isArray(values['sgtin']) ? values['sgtin'] : undefined;
  if (rows !== undefined) return rows.map((sgtin) => onceOf(part, { ...values, sgtin })).join('');
  return onceOf(part, values);
}

function onceOf(part: PartFact, values: Values): string {
  if (part.kind !== 'element') {
    const chosen = part.children.find((one) => isWanted(one, values)) ?? part.children[0];
    const children = part.kind === 'choice' && chosen !== undefined ? [chosen] : part.children;
    return children.map((child) => partOf(child, values)).join('');
  }
  if (part.type === undefined)
    return wrapped(part, part.children.map((child) => partOf(child, values)).join(''), values);
  const value = values[part.name] ?? sampleOf(part.type);
  return [value]
    .flat()
    .map((text) => wrapped(part, spelt(text, part.type as SimpleFact), values))
    .join('');
}

function wrapped({ name, attributes }: ElementFact, inside: string, values: Values): string {
  const own = attributes
    .filter((one) => `@${one.name}` in values)
    .map((one) => ` ${one.name}="${values[`@${one.name}`]}"`);
  return `<${name}${own.join('')}>${inside}</${name}>`;
}

/** A participant is named as the type of the field wants. */
function spelt(text: string, type: SimpleFact): string {
  const participant = participants.get(text);
  if (participant === undefined) return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return type.name === 'system_subject_type' ? participant.systemId : (participant.branches[0] as string);
}

const sampleOf = (type: SimpleFact): string => fc.sample(textOf(type), { numRuns: 1, seed: 7 })[0] as string;
const has = (part: PartFact, name: string): boolean =>
  (part.kind === 'element' && part.name === name) || part.children.some((child) => has(child, name));
const isWanted = (part: PartFact, values: Values): boolean => Object.keys(values).some((name) => has(part, name));

const schemas = new Schemas(schemasFolder(), ['1.38']);
/** What the schema set finds wrong with a text. */
export const violationsOf = (xml: string | Buffer): string[] => schemas.violations(Buffer.from(xml));
