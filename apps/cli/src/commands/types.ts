import { builtInSet, CATALOGUE, documentTypeOf, type DocumentType, type ElementShape } from '#documents';
import { PedigreeError } from '#kernel';
import { facts, out, table } from '../print.js';

/** `pedigree types`: all document types that are known. */
export function listTypes(json: boolean): number {
  const types = CATALOGUE.toSorted((a, b) => a.docType - b.docType);
  out(
    json
      ? JSON.stringify(types.map(shown))
      : table(['type', 'what it is', 'who writes it', 'does to a pack'], rows(types)),
  );
  return 0;
}

/** `pedigree types 415`: what is known of one, with its fields. Throws PedigreeError for a number that nobody knows. */
export function showType(number: string, json: boolean): number {
  const type = documentTypeOf(Number(number));
  if (type === undefined)
    throw new PedigreeError(
      'unknown_document_type',
      `${number} is not a document type that is known here; pedigree types lists them`,
    );
  const action = builtInSet().shapeOf(type.docType)?.action;
  if (json) out(JSON.stringify({ ...shown(type), fields: action?.children ?? [] }));
  else out(`${about(type)}\n\n${(action?.children ?? []).map((field) => fieldLines(field, '')).join('\n')}`);
  return 0;
}

const rows = (types: DocumentType[]): string[][] =>
  types.map((type) => [String(type.docType), type.title, WRITERS[type.direction], effectOf(type)]);

const WRITERS: Record<DocumentType['direction'], string> = {
  outgoing: 'a participant',
  query: 'a participant',
  notification: 'the registry',
  answer: 'the registry',
};

const shown = (type: DocumentType) => ({
  doc_type: type.docType,
  element: type.element,
  title: type.title,
  direction: type.direction,
  max_items: type.maxItems,
  effect: effectOf(type),
  transfer: type.transfer,
  told_by: type.toldBy,
  undone_by: type.undoneBy,
  corrects: type.corrects,
});

function about(type: DocumentType): string {
  const { docType, element, title, maxItems, transfer, toldBy, undoneBy, corrects, dissolves } = type;
  return facts([
    ['type', `${docType} ${element}: ${title}`],
    ['written by', WRITERS[type.direction]],
    ['most items', maxItems],
    ['does to a pack', effectOf(type)],
    ['transfer', transfer === undefined ? undefined : `it ${transfer}`],
    ['other side is told by', toldBy],
    ['undone by', undoneBy?.join(', ')],
    ['corrects', corrects === undefined ? undefined : `what ${corrects} names`],
    [
      'dissolves containers',
      dissolves === undefined ? 'not known' : dissolves === true ? 'yes' : `as ${dissolves} says`,
    ],
  ]);
}

const PLACES = { subject: 'is at the place of the subject', counterparty: 'goes to the other side', left: 'leaves us' };
const CONTAINMENTS = {
  packed: 'goes into a container',
  taken_out: 'leaves its container',
  opened: 'a container releases what it held',
};

function effectOf({ effect, wholePlace, maxItems }: DocumentType): string {
  if (effect === 'not known') return 'not known: its packs are uncertain';
  if (maxItems === 0 && wholePlace === undefined) return 'names no pack';
  const { status, place, containment } = effect;
  const words = [
    wholePlace === undefined ? undefined : 'all that the place holds',
    typeof status === 'function' ? 'a status by its own fields' : status,
    place === undefined ? undefined : PLACES[place],
    containment === undefined ? undefined : CONTAINMENTS[containment],
  ].filter((word) => word !== undefined);
  return words.length === 0 ? 'nothing' : words.join(', ');
}

function fieldLines({ name, many, attributes, children = [] }: ElementShape, indent: string): string {
  const own = `${indent}${name}${many ? ' (may repeat)' : ''}${attributes.map((one) => ` @${one}`).join('')}`;
  return [own, ...children.map((child) => fieldLines(child, `${indent}  `))].join('\n');
}
