import { describe, expect, it } from '@jest/globals';
import { AnswerCheck } from './answer.js';
import type { ProvenAnswer } from './bundle.js';
import { EvidenceNamed } from './evidence-named.js';

const SHA = 'a'.repeat(64);
const given: ProvenAnswer = {
  route: '/v1/cases/0B8C5F0E-6C0E-5B61-9F0E-0D2F7A1C9E55?as_of=x',
  readAt: '2026-03-01T10:00:00.000Z',
  position: '12',
  software: '1',
  body: '{}',
  streams: [
    { stream: 'case-0b8c5f0e-6c0e-5b61-9f0e-0d2f7a1c9e55', events: 3 },
    { stream: 'run-1', events: 1 },
  ],
};
const [first = '', second = ''] = given.streams.map(({ stream }) => stream);

describe('an answer beside its streams', () => {
  it('holds where the file has all of them, each whole, and says what is not sealed', () => {
    const check = new AnswerCheck(given);
    check.end({ stream: first, sealed: 2, unsealed: 1 });
    check.end({ stream: second, sealed: 1, unsealed: 0 });
    expect(check.done(new EvidenceNamed()).unsealed).toEqual([{ stream: first, events: 1 }]);
  });

  it('is refused where a stream is another one, left out, or has more or fewer events', () => {
    expect(() => new AnswerCheck(given).next(second)).toThrow(`from the stream ${first} next, and not from run-1`);
    expect(() => new AnswerCheck(given).end({ stream: first, sealed: 2, unsealed: 0 })).toThrow('the file has 2');
    expect(() => new AnswerCheck(given).end({ stream: first, sealed: 4, unsealed: 0 })).toThrow('the file has 4');
    const check = new AnswerCheck(given);
    check.end({ stream: first, sealed: 3, unsealed: 0 });
    expect(() => check.done(new EvidenceNamed())).toThrow('the stream run-1, from which the answer was made, is left');
    check.end({ stream: second, sealed: 1, unsealed: 0 });
    expect(() => check.next('run-2')).toThrow('the answer was not made from the stream run-2');
  });

  it.each([
    ['/v1/documents/1', 'document-1'],
    ['/v1/groups/1', 'group-1'],
    ['/v1/inbound/A%2F1', 'inbound-A/1'],
    ['/v1/reconciliations/1?limit=2', 'run-1'],
    ['/v1/suspensions/1?recent_days=3', 'suspension-1'],
    ['/v1/operations/configuration', 'configuration'],
  ])('is made from the stream of what its route is about: %s', (route, stream) => {
    expect(() => new AnswerCheck({ ...given, route })).toThrow(`made from the stream ${stream}`);
    expect(new AnswerCheck({ ...given, route, streams: [{ stream, events: 1 }] }).next(stream)).toBe(1);
  });

  it.each([
    ...['/v1/documents/1/', '/v1//documents/1', '/v1/Documents/1', '/v1/document/1', '/v2/documents/1'],
    ...['/v1/packs/1/history/', '/v1/access-log', '/v1/documents/1#x', '/v1/documents/%ZZ'],
  ])('is refused where its route is none of an answer that can be proven: %s', (route) => {
    const streams = [{ stream: 'document-1', events: 1 }];
    expect(() => new AnswerCheck({ ...given, route, streams })).toThrow(/no answer to .* can be proven/);
  });

  it.each(['{"outcome":"accepted","outcome":"rejected"}', '{"a":{"b":1,"b":1}}', '{"a": 1}', '{"a":1.0}'])(
    'is refused where its body is not as the API writes it: %s',
    (body) => expect(() => new AnswerCheck({ ...given, body })).toThrow('has a name twice, or is not as the API'),
  );

  it('is made from a part of a stream only where it is about one event', () => {
    const streams = [{ stream: 'case-1', from: 2, events: 1 }];
    expect(() => new AnswerCheck({ ...given, route: '/v1/cases/1', streams })).toThrow(
      'an answer to /v1/cases/1 is made from the whole stream case-1, from its first event on',
    );
    const check = new AnswerCheck({ ...given, route: '/v1/access-log/7', streams });
    expect(check.next('case-1', 2)).toBe(1);
    expect(() => check.next('case-1', 3)).toThrow('made from version 2 of case-1 on, and not from 3');
    expect(() => check.next('case-1')).toThrow('made from version 2 of case-1 on, and not from 0');
  });

  it('names no evidence but that of its events, and is an object', () => {
    const named = { ...given, streams: given.streams.slice(0, 1), body: `{"document_sha256":"${SHA}"}` };
    const check = new AnswerCheck(named);
    check.end({ stream: first, sealed: 3, unsealed: 0 });
    const evidence = new EvidenceNamed();
    expect(() => check.done(evidence)).toThrow(`the answer names the evidence ${SHA}, which no event names`);
    evidence.name(`{"documentSha256":"${SHA}"}`);
    expect(check.done(evidence).unsealed).toEqual([]);
    for (const body of ['[]', 'null', 'no'])
      expect(() => new AnswerCheck({ ...given, body })).toThrow('not a JSON object');
  });
});
