import type { DocumentFacts, DocumentItem } from '#documents';

/** What a document of a test names; types as in the catalogue (911 packs, 912 opens, 415 ships). */
export interface GivenDocument {
  docType?: number;
  items: string[];
  into?: string;
  /** Of whoever speaks, and of the other side. */
  place?: string;
  to?: string;
  /** 812: the place whose all moves. */
  from?: string;
  /** 250: the operation that it takes back, by either id. */
  recalls?: string;
  /** 912: what is inside what it holds comes out too. */
  isRecursive?: true;
  after?: string[];
  resendOf?: string;
  waives?: true;
  /** Member of it: `registerGroup` follows. */
  group?: string;
}

/** Where documents are at home that say nothing else. */
export const HOME = '00000000000464';

/** Its facts: what is read of its bytes. */
export const factsOf = ({ docType = 415, items, into, isRecursive, place = HOME, to, from, recalls }: GivenDocument) =>
  ({
    ...{ docType, subjectId: place, ...(to === undefined ? {} : { counterpartyId: to }) },
    fields: {
      ...(isRecursive === undefined ? {} : { is_recursive: 'true' }),
      ...(recalls === undefined ? {} : { operation_id: recalls }),
      ...(from === undefined ? {} : { shipper_id: from }),
    },
    items: items.map((one): DocumentItem => ({
      kind: one.length === 18 ? 'sscc' : 'sgtin',
      id: one,
      ...(into === undefined ? {} : { into }),
    })),
  }) satisfies Partial<DocumentFacts>;
