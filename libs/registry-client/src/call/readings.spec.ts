import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#kernel';
import type { RawAnswer } from '../port.js';
import { loadProfile } from '../profile.js';
import { readErrorBody } from './error-body.js';
import { resolveLink } from './links.js';
import { Readings } from './readings.js';
import { Requests } from './requests.js';

const answer = (body: string | JsonObject): RawAnswer => ({
  httpStatus: 200,
  contentType: 'application/json',
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body), 'utf8'),
  receivedMonotonicMs: 0,
  receivedAt: new Date(0),
});

describe('metadata of a document', () => {
  const mdlp = new Readings(loadProfile('mdlp'));
  const entry = {
    document_id: 'd1',
    request_id: 'r1',
    date: '2020-04-07 07:55:33',
    processed_date: '2018-11-16T13:22:06',
    sender: 's',
    doc_type: 415,
    doc_status: 'PROCESSED_DOCUMENT',
  };

  it('is read by the names, statuses and zone of the profile, and keeps every field as it came', () => {
    const fields = { ...entry, version: '1.34', receiver: 'x' };
    expect(mdlp.document(answer(fields))).toEqual({
      value: {
        documentId: 'd1',
        requestId: 'r1',
        status: 'processed',
        docType: 415,
        receivedAt: '2020-04-07T04:55:33.000Z',
        processedAt: '2018-11-16T10:22:06.000Z',
        sender: 's',
        receiver: 'x',
        fields,
      },
    });
  });

  it('tells a request_id in small letters where it is a UUID, as ours are, and keeps the field as it came', () => {
    const [upper, other] = ['0D9E1F22-3344-5566-8777-8899AABBCCDD', 'R1'];
    const reading = mdlp.document(answer({ ...entry, request_id: upper }));
    expect(reading).toMatchObject({ value: { requestId: upper.toLowerCase(), fields: { request_id: upper } } });
    expect(mdlp.document(answer({ ...entry, request_id: other }))).toMatchObject({ value: { requestId: other } });
  });

  it('undoes the escaping of JSON exactly once (registry-interface 7.3)', () => {
    // On the wire: "A\\B\"C".
    const reading = mdlp.document(
      answer(`{"document_id":"d1","request_id":"r1","doc_status":"FAILED","doc_num":"A\\\\B\\"C"}`),
    );
    expect(reading).toMatchObject({ value: { docNum: 'A\\B"C' } });
    const doubled = mdlp.document(answer({ ...entry, doc_num: 'A\\\\B' }));
    expect(doubled).toMatchObject({ value: { docNum: 'A\\\\B' } });
  });

  it('takes an unknown status for what the profile says, or refuses the answer', () => {
    expect(mdlp.document(answer({ ...entry, doc_status: 'NEW_STEP' }))).toMatchObject({
      value: { status: 'processing', fields: { doc_status: 'NEW_STEP' } },
    });
    const strict = new Readings(loadProfile('mdlp', { statusFallback: null }));
    expect(strict.document(answer({ ...entry, doc_status: 'NEW_STEP' }))).toEqual({
      problem: 'document d1 has the unknown status "NEW_STEP"',
    });
    expect(strict.document(answer({ ...entry, doc_status: 'toString' }))).toHaveProperty('problem');
  });

  it('says what is wrong with an answer of another shape', () => {
    expect(mdlp.document(answer('[]'))).toEqual({ problem: 'the answer is not a JSON object' });
    expect(mdlp.document(answer({ doc_status: 'FAILED' }))).toEqual({ problem: 'a document without "document_id"' });
    // PostgreSQL takes no NUL and UTF-8 no half of a surrogate pair: an id with one could never be stored.
    for (const documentId of ['d\\u0000', 'd\\ud800']) {
      expect(mdlp.document(answer(`{"document_id":"${documentId}","doc_status":"FAILED"}`))).toEqual({
        problem: 'a document without "document_id"',
      });
      expect(mdlp.text(answer(`{"document_id":"${documentId}"}`), 'document_id')).toHaveProperty('problem');
    }
    expect(mdlp.page(answer({ documents: {}, total: 0 }))).toEqual({ problem: '"documents" is not a list' });
    expect(mdlp.page(answer({ documents: [], total: 'many' }))).toEqual({ problem: '"total" is not a count' });
    expect(mdlp.documents(answer({ documents: [entry, { request_id: 'r' }] }))).toEqual({
      problem: '"documents"[1]: a document without "document_id"',
    });
  });

  it('of a list is read though other entries tell no document, and these are told with their places', () => {
    const without = { request_id: 'r', sum: 1.5 };
    const reading = mdlp.page(answer({ documents: [without, entry, 'nothing'], total: 3 }));
    expect(reading).toMatchObject({ value: { documents: [{ documentId: 'd1' }], total: 3 } });
    expect(reading).toHaveProperty('value.notUnderstood', [
      { at: 0, written: '{"request_id":"r","sum":1.5}', problem: 'a document without "document_id"' },
      { at: 2, written: '"nothing"', problem: 'it is not an object' },
    ]);
  });

  it('under a request_id takes no notification for what was sent, and nothing from an answer about another one', () => {
    const note = { ...entry, document_id: 'n1', doc_type: 607 };
    const under = (documents: JsonObject[]) =>
      mdlp.documentsUnder(answer({ documents, total: documents.length }), 'R1');
    expect(under([note, entry])).toMatchObject({ value: [{ documentId: 'd1' }] });
    expect(under([note])).toEqual({ value: [] });
    expect(under([entry, { document_id: 'd2', doc_status: 'FAILED' }])).toMatchObject({
      value: [{ documentId: 'd1' }, { documentId: 'd2' }],
    });
    expect(under([entry, { ...entry, document_id: 'd2', request_id: 'r2' }])).toEqual({
      problem: 'document d2 is of request r2',
    });
  });

  it('takes a list of one that comes as the bare document, and a total in quotes', () => {
    expect(mdlp.page(answer({ documents: entry, total: '1' }))).toMatchObject({
      value: { documents: [{ documentId: 'd1' }], total: 1 },
    });
  });

  it('loses no digit of a number, and takes nothing for a scheme number that is none', () => {
    const reading = mdlp.document(
      answer(`{"document_id":"d1","doc_status":"FAILED","doc_num":100000000000000000001,"sum":1200.50}`),
    );
    expect(reading).toMatchObject({
      value: { docNum: '100000000000000000001', fields: { doc_num: '100000000000000000001', sum: '1200.50' } },
    });
    for (const docType of ['', ' ', '0x10', 41.5, -1, 0, '0'])
      expect(mdlp.document(answer({ ...entry, doc_type: docType }))).not.toHaveProperty('value.docType');
    expect(mdlp.document(answer({ ...entry, doc_type: '415' }))).toHaveProperty('value.docType', 415);
  });

  it('is read behind a byte order mark, and so is the code of an error', () => {
    expect(mdlp.document(answer(`\uFEFF${JSON.stringify(entry)}`))).toHaveProperty('value.documentId', 'd1');
    const words = answer('\uFEFF{"error_code":4,"error_description":"no"}');
    expect(readErrorBody(words, loadProfile('mdlp').fields)).toEqual({ shape: 'registry', code: '4', text: 'no' });
  });

  it('does not take a web page or nothing for XML', () => {
    expect(mdlp.xml(answer(''))).toHaveProperty('problem');
    expect(mdlp.xml(answer('<!DOCTYPE html><html></html>'))).toHaveProperty('problem');
    expect(mdlp.xml(answer('{"link":"x"}'))).toHaveProperty('problem');
    expect(mdlp.xml(answer('\uFEFF<?xml version="1.0"?><documents/>'))).toHaveProperty('value');
  });
});

describe('requests', () => {
  const query = {
    documentIds: ['a', 'b'],
    requestId: 'r',
    from: new Date('2026-11-20T21:00:00Z'),
    to: new Date('2026-11-21T20:59:59Z'),
    offset: 100,
    limit: 500,
  };

  it('carry the filter of a list flat in the query of a GET', () => {
    const { method, path, body } = new Requests(loadProfile('interface-v1')).list('list_outgoing', query);
    expect(method).toBe('GET');
    expect(body).toBeUndefined();
    const url = new URL(path, 'http://x');
    expect(url.pathname).toBe('/api/v1/documents/outcome');
    expect([...url.searchParams]).toEqual([
      ['document_ids', 'a'],
      ['document_ids', 'b'],
      ['request_id', 'r'],
      ['start_date', '2026-11-21 00:00:00'],
      ['end_date', '2026-11-21 23:59:59'],
      ['start_from', '100'],
      ['count', '100'],
    ]);
  });

  it('carry it as {filter, start_from, count} in the body of a POST', () => {
    const { method, path, body } = new Requests(loadProfile('mdlp')).list('list_incoming', query);
    expect([method, path]).toEqual(['POST', '/api/v1/documents/income']);
    expect(JSON.parse(body ?? '')).toEqual({
      filter: {
        document_ids: ['a', 'b'],
        request_id: 'r',
        start_date: '2026-11-21 00:00:00',
        end_date: '2026-11-21 23:59:59',
      },
      start_from: 100,
      count: 100,
    });
  });

  it('escape what goes into a path', () => {
    expect(new Requests(loadProfile('mdlp')).plain('status', { document_id: '../a b?c' }).path).toBe(
      '/api/v1/documents/..%2Fa%20b%3Fc',
    );
  });

  it('send the document by the field names of the profile, with bulk_processing only when it was said', () => {
    const requests = new Requests(loadProfile('mdlp', { fields: { request_id: 'req' } }));
    const document = { xml: Buffer.from('xx<a/>').subarray(2), signature: Buffer.from('s'), requestId: 'r' };
    expect(JSON.parse(requests.send(document).body ?? '')).toEqual({
      document: Buffer.from('<a/>').toString('base64'),
      sign: 'cw==',
      req: 'r',
    });
    expect(JSON.parse(requests.send({ ...document, bulkProcessing: false }).body ?? '')).toHaveProperty(
      'bulk_processing',
      false,
    );
  });
});

describe('links', () => {
  const base = new URL('http://127.0.0.1:8443/prefix');
  const foreign = 'https://api.registry.example/webdav/d/ticket_d?x=1';
  const pair = { from: 'https://api.registry.example', to: 'https://proxy.example:444' };
  it.each([
    ['same host', 'http://127.0.0.1:8443/webdav/d', null, 'http://127.0.0.1:8443/webdav/d'],
    ['without a host', '/webdav/d', null, 'http://127.0.0.1:8443/webdav/d'],
    ['of another host, fetched from the base', foreign, 'base', 'http://127.0.0.1:8443/webdav/d/ticket_d?x=1'],
    ['of the rewritten host', foreign, pair, 'https://proxy.example:444/webdav/d/ticket_d?x=1'],
    ['with the base as user name', 'http://127.0.0.1:8443@evil.example/x', 'base', 'http://127.0.0.1:8443/x'],
  ] as const)('%s', (_name, link, rewrite, expected) => {
    expect(resolveLink(link, base, rewrite)).toEqual({ value: new URL(expected) });
  });

  it.each([
    ['another host', foreign, null],
    ['another port', 'http://127.0.0.1:9/x', null],
    ['another host than the pair', 'https://evil.example/x', pair],
    ['a user name that looks like the base', 'http://127.0.0.1:8443@evil.example/x', null],
    ['no scheme of the web', 'file:///etc/passwd', 'base'],
    ['no address', 'http://[', 'base'],
  ] as const)('are refused with %s', (_name, link, rewrite) => {
    expect(resolveLink(link, base, rewrite)).toHaveProperty('problem');
  });
});
