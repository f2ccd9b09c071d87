import { schemaEntries, type SchemaEntry } from './schema-set.js';

/** A supported document type. */
export type DocumentType = Omit<SchemaEntry, 'direction' | 'file'> & {
  /**
   * `notification`s are made by the registry alone; a `query` changes nothing and is answered by another type than a
   * receipt.
   */
  direction: 'outgoing' | 'notification' | 'query';
};

/** The supported types in the order of the schema set's index. A receipt (200) is an answer and no document. */
export const documentTypes: readonly DocumentType[] = schemaEntries.flatMap(
  ({ direction, docType, element, title, maxItems }) =>
    direction === 'receipt' ? [] : [{ docType, element, title, maxItems, direction }],
);

const byNumber = new Map(documentTypes.map((type) => [type.docType, type]));

/** The type with this scheme number, or undefined. */
export const documentTypeOf = (docType: number): DocumentType | undefined => byNumber.get(docType);

/**
 * Types that reach the registry past every participant's API: from registrars and tills (public-facts 2.2). They are
 * read and never sent.
 */
const FOREIGN_TITLES: ReadonlyMap<number, string> = new Map([
  [10319, 'Registration by the emission registrar'],
  [10501, 'Withdrawal (disposal registrar)'],
  [10502, 'Withdrawal (disposal registrar)'],
  [10511, 'Retail sale (till)'],
  [10521, 'Dispensing on a discount prescription (disposal registrar)'],
  [10522, 'Dispensing on a discount prescription (till)'],
  [10531, 'Use in medical care (disposal registrar)'],
]);

/** The plain name of a type, whoever sends it. */
export const titleOfType = (docType: number): string =>
  documentTypeOf(docType)?.title ?? FOREIGN_TITLES.get(docType) ?? `Document ${docType}`;
