import { PedigreeError } from '#kernel';
import { documentTypeOf } from './catalogue/catalogue.js';
import { RECALL } from './catalogue/type-knowledge.js';
import type { DocumentFacts } from './port.js';

/** How often the record keeps one item of one document: it numbers them by a smallint. */
export const MOST_NAMINGS = 32_768;
/** Of a text by which the record is searched: an index of PostgreSQL takes 2,704 bytes, with an item beside it. */
const LONGEST_KEY = 800;

/** Whether the record can be searched by this text. */
export const fitsRecord = (text: string): boolean => text.length <= LONGEST_KEY;

/**
 * The same facts, where the record can hold all of them. Throws PedigreeError `too_many_items` for an item that is
 * named too often, and `schema_violation` for an overlong place, series or operation. Not part of reading a document:
 * what was taken by an earlier version must stay readable.
 */
export function mustFitRecord<Facts extends DocumentFacts>(facts: Facts): Facts {
  const { docType, element, subjectId, counterpartyId = '', fields, items, series = [] } = facts;
  const wholePlace = documentTypeOf(docType)?.wholePlace ?? '';
  const keys = [
    ['the subject', subjectId],
    ['the counterparty', counterpartyId],
    ['the place of which all is moved', fields[wholePlace] ?? ''],
    ['the operation', docType === RECALL ? (fields['operation_id'] ?? '') : ''],
    ...series.map((one) => ['a series', one.series ?? ''] as const),
  ] as const;
  const long = keys.find(([, text]) => !fitsRecord(text));
  if (long !== undefined)
    throw new PedigreeError('schema_violation', `${long[0]} has more than ${LONGEST_KEY} characters`, { element });
  const often = items.length <= MOST_NAMINGS ? undefined : namedTooOften(facts);
  if (often !== undefined)
    throw new PedigreeError('too_many_items', `${often} is named more than ${MOST_NAMINGS} times`, {
      ...{ element, item: often },
    });
  return facts;
}

function namedTooOften({ items }: Pick<DocumentFacts, 'items'>): string | undefined {
  const times = new Map<string, number>();
  return items.find(({ id }) => {
    const before = times.get(id) ?? 0;
    times.set(id, before + 1);
    return before === MOST_NAMINGS;
  })?.id;
}
