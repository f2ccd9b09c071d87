import { describe, expect, it } from '@jest/globals';
import { XmlDocument } from 'libxml2-wasm';
import { schemasFolder } from '../data-files.js';
import { loadProfile } from '../profile.js';
import { newDocument, type RegistryDocument, type Verdict } from './document.js';
import { receiptXml } from './receipt.js';
import { Schemas } from './schemas.js';

function documentWith(verdict: Verdict): RegistryDocument {
  const document = newDocument({
    seq: 1,
    documentId: 'd',
    requestId: 'r<&>"1',
    sender: 'own',
    acceptedVirtualMs: 0,
    dueVirtualMs: Date.parse('2026-11-21T21:30:15.250Z'),
    answeredRealMs: 0,
    journalAt: { offset: 0, length: 0 },
  });
  return Object.assign(document, { verdict, docType: 415, version: '1.38' });
}

describe('receipts', () => {
  it('match the public schema, whatever is in their texts', () => {
    const schemas = new Schemas(schemasFolder(), []);
    const errors = [
      { code: '2', text: 'a & b <c> \u0001 "d"', objectId: '04600000000015TESTS00000001' },
      { code: '41', text: 'no object' },
    ];
    for (const result of ['Accepted', 'Partial', 'Rejected'] as const) {
      const xml = receiptXml(
        documentWith({ kind: 'receipt', result, comment: 'да', errors: result === 'Accepted' ? [] : errors }),
        loadProfile('interface-v1'),
      );
      const parsed = XmlDocument.fromBuffer(xml ?? Buffer.alloc(0));
      expect(schemas.violations(xml ?? Buffer.alloc(0))).toEqual([]);
      expect(parsed.get('/documents/result/operation_id')?.content).toBe('r<&>"1');
      expect(parsed.find('/documents/result/errors').length).toBe(result === 'Accepted' ? 0 : 2);
      expect(xml?.toString()).toContain('accept_time="2026-11-22T00:30:15.250+03:00"');
      parsed.dispose();
    }
    schemas.dispose();
  });

  it('are not there after a critical error', () => {
    expect(receiptXml(documentWith({ kind: 'critical', reason: 'x' }), loadProfile('interface-v1'))).toBeUndefined();
  });
});
