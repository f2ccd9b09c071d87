import { schemaEntries, type SchemaEntry } from './schema-set.js';

/** A supported document type. */
export type DocumentType = Omit<SchemaEntry, 'direction' | 'file'> & {
  /** `notification`s are made by the registry alone; a `query` changes nothing and is answered by another type than a receipt. */
  direction: 'outgoing' | 'notification' | 'query';
};

/** The supported types in the order of the schema set's index. A receipt (200) is an answer and no document. */
export const documentTypes: readonly DocumentType[] = schemaEntries.flatMap(({ direction, docType, element, title, maxItems }) =>
  direction === 'receipt' ? [] : [{ docType, element, title, maxItems, direction }],
);

const byNumber = new Map(documentTypes.map((type) => [type.docType, type]));

/** The type with this scheme number, or undefined. */
export const documentTypeOf = (docType: number): DocumentType | undefined => byNumber.get(docType);
export const isKnownDocumentType = (docType: number): boolean => byNumber.has(docType);
