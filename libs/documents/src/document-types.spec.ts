import { describe, expect, it } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { documentShape } from './document-shape.js';
import { documentTypeOf, documentTypes } from './document-types.js';
import { schemaEntries, SHARED_TYPES } from './schema-set.js';

describe('given the index of the schema set', () => {
  it('it names every file of the set once, and none that is not there', () => {
    const files = readdirSync(new URL('../schemas/1.38/', import.meta.url)).filter(
      (name) => name.endsWith('.xsd') && name !== SHARED_TYPES,
    );
    expect(schemaEntries.map((entry) => entry.file).sort()).toEqual(files.sort());
  });

  it('each file describes the action that the index says, with the limit that the index says', () => {
    for (const { docType, element } of schemaEntries) {
      const { envelope, action } = documentShape(docType);
      expect(action.name).toBe(element);
      expect(action.attributes).toContain('action_id');
      expect(envelope).toEqual(['session_ui', 'original_id', 'client_identifier']);
    }
  });

  it('numbers and elements are unique', () => {
    expect(new Set(schemaEntries.map((entry) => entry.docType)).size).toBe(schemaEntries.length);
    expect(new Set(schemaEntries.map((entry) => entry.element)).size).toBe(schemaEntries.length);
  });
});

describe('given a number', () => {
  it('a type that is known is found, a receipt and anything else is none', () => {
    expect(documentTypeOf(415)).toEqual({
      docType: 415,
      element: 'move_order',
      title: 'Shipment to a buyer',
      maxItems: 25_000,
      direction: 'outgoing',
    });
    expect(documentTypes).toHaveLength(29);
    expect([415, 10311, 601, 210].map((docType) => documentTypeOf(docType)?.docType)).toEqual([415, 10311, 601, 210]);
    expect([200, 0, -415, 415.5, Number.NaN].flatMap((docType) => documentTypeOf(docType) ?? [])).toEqual([]);
  });
});
