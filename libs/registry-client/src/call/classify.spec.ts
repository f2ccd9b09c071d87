import { describe, expect, it } from '@jest/globals';
import type { RawAnswer } from '../port.js';
import { loadProfile } from '../profile.js';
import { classify, retryAfterMs, type CallManner } from './classify.js';
import { readErrorBody, type ErrorShape } from './error-body.js';
import type { Exchange } from './exchange.js';
import { Readings } from './readings.js';

const profile = loadProfile('mdlp');
const readings = new Readings(profile);

const raw = (httpStatus: number, body: string, contentType = 'application/json;charset=UTF-8'): RawAnswer => ({
  httpStatus,
  contentType,
  body: Buffer.from(body, 'utf8'),
  receivedMonotonicMs: 0,
  receivedAt: new Date(0),
});
const answered = (answer: RawAnswer): Exchange => ({ kind: 'answered', raw: answer, retryAfter: undefined });

const BODIES: Record<string, { body: string; type?: string; shape: ErrorShape; code?: string; text: string }> = {
  'error_description alone': {
    body: '{"error_description":"Ошибка при выполнении операции: дубль"}',
    shape: 'registry',
    text: 'Ошибка при выполнении операции: дубль',
  },
  'error_code and error_description': {
    body: '{"error_code":17,"error_description":"no"}',
    shape: 'registry',
    code: '17',
    text: 'no',
  },
  'error_desc as in hierarchy answers': {
    body: '{"error_code":4,"error_desc":"only for the owner"}',
    shape: 'registry',
    code: '4',
    text: 'only for the owner',
  },
  'Spring default': {
    body: '{"timestamp":1,"status":404,"error":"Not Found","message":"No handler","path":"/x"}',
    shape: 'spring',
    text: 'Not Found: No handler: /x',
  },
  violations: {
    body: '{"success":false,"violations":["UPPER_REQUIRED","NUM_REQUIRED"]}',
    shape: 'violations',
    text: 'UPPER_REQUIRED, NUM_REQUIRED',
  },
  'problem+json': {
    body: '{"type":"about:blank","title":"Not Found","status":404,"detail":"No static resource.","instance":"/x"}',
    type: 'application/problem+json',
    shape: 'problem',
    text: 'Not Found: No static resource.',
  },
  'HTML of nginx': {
    body: '<html>\r\n<head><title>502 Bad Gateway</title></head><body>x</body></html>',
    type: 'text/html',
    shape: 'html',
    text: '502 Bad Gateway',
  },
  'HTML without a title and type': {
    body: '<html><body>gone  fishing</body></html>',
    type: '',
    shape: 'html',
    text: 'gone fishing',
  },
  text: { body: 'upstream\nconnect error', type: 'text/plain', shape: 'text', text: 'upstream connect error' },
  'other JSON': { body: '{"oops":1}', shape: 'json', text: '{"oops":1}' },
  nothing: { body: '', shape: 'empty', text: 'HTTP 400 without a body' },
};

describe('readErrorBody', () => {
  it.each(Object.entries(BODIES))('reads %s', (_name, { body, type, shape, code, text }) => {
    expect(readErrorBody(raw(400, body, type ?? 'application/json'), profile.fields)).toEqual({ shape, code, text });
  });

  it('lets no character through that cannot be stored', () => {
    const text = (body: string) => readErrorBody(raw(400, body), profile.fields);
    expect(
      text('{"error_code":"E\\u00001","error_description":"no\\u0000 such\\u001b[31m\\u0085 pack \\ud800!"}'),
    ).toMatchObject({ code: 'E 1', text: 'no such [31m pack \uFFFD!' });
    // The cut falls into the middle of a pair: no half of it stays.
    expect(text(`{"error_description":"${'x'.repeat(499)}😀"}`).text).toBe('x'.repeat(499));
  });

  it('cuts a long text', () => {
    expect(readErrorBody(raw(400, 'x'.repeat(10_000), 'text/plain'), profile.fields).text).toHaveLength(500);
  });
});

const send: CallManner = { changes: true, on404: 'refused' };
const status: CallManner = { changes: false, on404: 'absent' };
const byRequestId: CallManner = { changes: false, on404: 'absent_if_registry_says_so' };
const list: CallManner = { changes: false, on404: 'refused' };
const kindOf = (exchange: Exchange, manner: CallManner): string => {
  const outcome = classify(exchange, manner, {
    fields: profile.fields,
    read: (answer) => readings.text(answer, 'document_id'),
  });
  return outcome.kind === 'refused' ? `refused ${outcome.code}` : outcome.kind;
};

const HTML = '<html><head><title>Error</title></head></html>';
const SAID = '{"error_description":"no such document"}';
const OK = '{"document_id":"d1"}';
/** Exchange, then the kinds for: send, status, look-up by request_id, list. */
const TABLE: [string, Exchange, string, string, string, string][] = [
  [
    'refused connection',
    { kind: 'failed', written: false, reason: 'ECONNREFUSED' },
    'not_sent',
    'not_sent',
    'not_sent',
    'not_sent',
  ],
  [
    'reset after the request',
    { kind: 'failed', written: true, reason: 'ECONNRESET' },
    'unknown',
    'unknown',
    'unknown',
    'unknown',
  ],
  ['200 understood', answered(raw(200, OK)), 'ok', 'ok', 'ok', 'ok'],
  ['201 understood', answered(raw(201, OK)), 'ok', 'ok', 'ok', 'ok'],
  [
    '200 with the id and an error code',
    answered(raw(200, '{"document_id":"d1","error_code":5}')),
    'ok',
    'ok',
    'ok',
    'ok',
  ],
  [
    '200 with error_code 2',
    answered(raw(200, '{"error_code":2,"error_desc":"not found"}')),
    'refused 2',
    'not_found',
    'not_found',
    'not_found',
  ],
  [
    '200 with error_code 4',
    answered(raw(200, '{"error_code":4,"error_desc":"not yours"}')),
    'refused 4',
    'refused 4',
    'refused 4',
    'refused 4',
  ],
  ['200 without what was asked for', answered(raw(200, '{}')), 'unknown', 'unknown', 'unknown', 'unknown'],
  ['200 of a login page', answered(raw(200, HTML, 'text/html')), 'unknown', 'unknown', 'unknown', 'unknown'],
  ['200 cut short', answered(raw(200, '{"document_id":"d')), 'unknown', 'unknown', 'unknown', 'unknown'],
  ['204', answered(raw(204, '')), 'unknown', 'unknown', 'unknown', 'unknown'],
  ['302', answered(raw(302, '')), 'unknown', 'refused http_302', 'refused http_302', 'refused http_302'],
  [
    '400',
    answered(raw(400, '{"error_code":"dup","error_description":"twice"}')),
    'refused dup',
    'refused dup',
    'refused dup',
    'refused dup',
  ],
  ['401', answered(raw(401, '')), 'refused http_401', 'refused http_401', 'refused http_401', 'refused http_401'],
  ['403', answered(raw(403, SAID)), 'refused http_403', 'refused http_403', 'refused http_403', 'refused http_403'],
  ['404 by the registry', answered(raw(404, SAID)), 'refused http_404', 'not_found', 'not_found', 'refused http_404'],
  [
    '404 by nginx',
    answered(raw(404, HTML, 'text/html')),
    'refused http_404',
    'not_found',
    'refused http_404',
    'refused http_404',
  ],
  [
    '404 of an unknown route',
    answered(raw(404, BODIES['problem+json']?.body ?? '', 'application/problem+json')),
    'refused http_404',
    'not_found',
    'refused http_404',
    'refused http_404',
  ],
  ['408', answered(raw(408, '')), 'unknown', 'refused http_408', 'refused http_408', 'refused http_408'],
  [
    '400 with violations',
    answered(raw(400, '{"success":false,"violations":["X"]}')),
    'refused http_400',
    'refused http_400',
    'refused http_400',
    'refused http_400',
  ],
  [
    '403 with error_code 4',
    answered(raw(403, '{"error_code":4,"error_description":"not yours"}')),
    'refused 4',
    'refused 4',
    'refused 4',
    'refused 4',
  ],
  [
    '405 by Spring',
    answered(raw(405, BODIES['Spring default']?.body ?? '')),
    'refused http_405',
    'refused http_405',
    'refused http_405',
    'refused http_405',
  ],
  [
    '406 without a body',
    answered(raw(406, '')),
    'refused http_406',
    'refused http_406',
    'refused http_406',
    'refused http_406',
  ],
  ['409', answered(raw(409, SAID)), 'refused http_409', 'refused http_409', 'refused http_409', 'refused http_409'],
  [
    '404 of Spring: no such route',
    answered(raw(404, BODIES['Spring default']?.body ?? '')),
    'refused http_404',
    'not_found',
    'refused http_404',
    'refused http_404',
  ],
  ['200 understood under a wrong label', answered(raw(200, OK, 'text/html')), 'ok', 'ok', 'ok', 'ok'],
  [
    '413 by nginx',
    answered(raw(413, HTML, 'text/html')),
    'refused http_413',
    'refused http_413',
    'refused http_413',
    'refused http_413',
  ],
  [
    '429',
    answered(raw(429, '{"error_description":"interval 100 ms"}')),
    'rate_limited',
    'rate_limited',
    'rate_limited',
    'rate_limited',
  ],
  ['500 by the registry', answered(raw(500, SAID)), 'unknown', 'unknown', 'unknown', 'unknown'],
  [
    '500 as a problem document',
    answered(raw(500, BODIES['problem+json']?.body ?? '', 'application/problem+json')),
    'unknown',
    'unknown',
    'unknown',
    'unknown',
  ],
  ['502 by nginx', answered(raw(502, HTML, 'text/html')), 'unknown', 'unknown', 'unknown', 'unknown'],
  ['503', answered(raw(503, '')), 'unknown', 'unknown', 'unknown', 'unknown'],
];

describe('classify', () => {
  it.each(TABLE)('%s', (_name, exchange, ofSend, ofStatus, ofLookUp, ofList) => {
    expect([
      kindOf(exchange, send),
      kindOf(exchange, status),
      kindOf(exchange, byRequestId),
      kindOf(exchange, list),
    ]).toEqual([ofSend, ofStatus, ofLookUp, ofList]);
  });

  it.each(Object.entries(BODIES))('says whether a server before the registry may refuse by %s', (name, one) => {
    const answer = answered(raw(400, one.body, one.type ?? 'application/json'));
    const outcome = classify(answer, send, { fields: profile.fields, read: () => ({ problem: name }) });
    expect(outcome).toMatchObject({ kind: 'refused' });
    expect('mayBeOthers' in outcome).toBe(one.shape !== 'registry');
  });

  const answers: [string, string, string, boolean][] = [
    ['JSON without what was asked for', '{}', 'application/json', true],
    ['text', 'no such thing', 'text/plain', true],
    ['a maintenance page', HTML, 'text/html', false],
    ['a page under a wrong label', HTML, 'application/xml', false],
    ['nothing', '', 'application/xml', false],
  ];
  it.each(answers)('a read counts %s as of no use, unless a server before the registry says it', (...one) => {
    const [problem, body, type, isUseless] = one;
    const options = { fields: profile.fields, read: () => ({ problem }) };
    const read = classify(answered(raw(200, body, type)), list, options);
    expect([read.kind, 'isUseless' in read]).toEqual(['unknown', isUseless]);
    expect(classify(answered(raw(200, body, type)), send, options)).not.toHaveProperty('isUseless');
  });

  it('says why in words', () => {
    const outcome = classify(answered(raw(502, HTML, 'text/html')), send, {
      fields: profile.fields,
      read: (answer) => readings.text(answer, 'document_id'),
    });
    expect(outcome).toMatchObject({ kind: 'unknown', reason: 'HTTP 502: Error' });
  });
});

describe('retryAfterMs', () => {
  const now = new Date('2026-11-21T10:00:00Z');
  it.each([
    [undefined, undefined],
    ['2', 2000],
    ['Sat, 21 Nov 2026 10:00:05 GMT', 5000],
    ['Sat, 21 Nov 2026 09:00:00 GMT', undefined],
    ['soon', undefined],
    ['999999', 3_600_000],
  ])('%s', (header, expected) => expect(retryAfterMs(header, now)).toBe(expected));
});
