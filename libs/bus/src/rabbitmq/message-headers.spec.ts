import { describe, expect, it } from '@jest/globals';
import { headerBytes, MOST_HEADER_BYTES } from './channel.js';
import {
  deadLetterEnvelope,
  copyOf,
  deliveriesOf,
  identityOf,
  incomingOf,
  deadLetterOf,
  publisherOf,
} from './message-headers.js';

const body = Buffer.from('{}');
const info = {
  id: 'l-1',
  code: 'invalid_json',
  reason: 'the body is not JSON',
  deadAt: new Date('2026-11-21T10:00:00.123Z'),
  deliveries: 4,
};
const ownUser = 'pedigree';
const limits = { deliveryLimit: 10, ownUser };
const given = {
  messageId: 'm-1',
  contentType: 'application/json',
  correlationId: 'c',
  timestamp: 1_700_000_000,
  headers: { 'erp-batch': '7', nested: { a: 1 } },
};

describe('how often a message was delivered', () => {
  it.each([
    [1, {}],
    [1, { headers: { 'x-delivery-count': 0 } }],
    [4, { headers: { 'x-delivery-count': 3 } }],
    [2, { redelivered: true }],
    [1, { headers: { 'x-delivery-count': 'many' } }],
  ])('%s times by %j', (deliveries, message) => expect(deliveriesOf(message)).toBe(deliveries));
});

describe('a message that is published again', () => {
  it('is as its publisher made it, without what the broker and we added', () => {
    const marks = {
      'x-death': [],
      'x-first-death-queue': 'q',
      'x-delivery-count': 3,
      'x-pedigree-code': 'invalid_json',
      'x-pedigree-id': 'l-0',
      'x-pedigree-publisher': 'boss',
    };
    const copy = copyOf({ ...given, contentEncoding: 'identity', headers: { ...given.headers, ...marks } }, ownUser);
    expect(copy).toEqual({ ...given, durable: true, mandatory: true });
  });

  it('keeps an encoding that its publisher named', () =>
    expect(copyOf({ contentEncoding: 'gzip' }, ownUser)).toMatchObject({ contentEncoding: 'gzip' }));
});

describe('a dead letter', () => {
  it('of ours tells what it was given', () => {
    const letter = deadLetterOf({ ...deadLetterEnvelope(given, info, ownUser), body }, limits);
    expect(letter).toEqual({
      ...info,
      messageId: 'm-1',
      contentType: 'application/json',
      headers: { 'erp-batch': '7', nested: '{"a":1}' },
      body,
      bodyBytes: 2,
    });
  });

  it('of ours holds no reason without end', () =>
    expect(
      deadLetterOf({ ...deadLetterEnvelope(given, { ...info, reason: 'x'.repeat(9_000) }, ownUser), body }, limits)
        .reason,
    ).toHaveLength(4_000));

  it.each([1_000, 1_001, 7_000, 7_001])(
    'of ours fills its frame with the reason, beside %s bytes of its publisher',
    (bytes) => {
      const message = { headers: { given: 'x'.repeat(bytes) } };
      const letter = deadLetterEnvelope(message, { ...info, reason: 'Ж'.repeat(4_000) }, ownUser);
      expect([MOST_HEADER_BYTES, MOST_HEADER_BYTES - 1]).toContain(headerBytes(letter));
      expect(deadLetterOf({ ...letter, body }, limits).reason).toMatch(/^Ж+$/);
    },
  );

  it('of the broker tells the delivery limit, and has an id that stays', () => {
    const headers = {
      'x-death': [
        { reason: 'delivery_limit', queue: 'pedigree.commands', time: new Date('2026-11-21T10:00:00Z'), count: 1 },
      ],
    };
    const letter = deadLetterOf({ ...given, headers, body }, limits);
    expect(letter).toMatchObject({
      code: 'delivery_limit',
      deliveries: 10,
      deadAt: new Date('2026-11-21T10:00:00Z'),
      headers: {},
    });
    expect(letter.reason).toMatch(
      /^the broker counts that it was delivered 10 times from pedigree\.commands, which is the limit, and not once settled\. It does not say why: /,
    );
    expect(letter.reason).not.toMatch(/has the faults/);
    // Looking at it is counted by the broker and changes nothing.
    expect(deadLetterOf({ ...given, headers: { ...headers, 'x-delivery-count': 7 }, body }, limits).id).toBe(letter.id);
    expect(deadLetterOf({ ...given, headers, body: Buffer.from('[]') }, limits).id).not.toBe(letter.id);
  });

  it.each([
    [{}, 'unknown', /by hand/],
    [{ 'x-death': 'nonsense' }, 'unknown', /by hand/],
    [{ 'x-death': [{ reason: 'maxlen' }] }, 'maxlen', /maxlen/],
    [{ 'x-pedigree-id': 'l-1', 'x-pedigree-dead-at': 'never' }, 'unknown', /by hand/],
  ])('of whatever else is shown too: %j', (headers, code, reason) => {
    expect(deadLetterOf({ headers, body }, limits)).toMatchObject({
      code,
      reason: expect.stringMatching(reason) as unknown,
      contentType: 'application/octet-stream',
    });
  });
});

describe('the identity of a message', () => {
  const of = (over: object, bytes = body): string => identityOf({ ...given, ...over, body: bytes });
  it('stays whatever the broker and we add to it, also as a dead letter and as a copy', () => {
    const marks = { 'x-delivery-count': 3, 'x-death': [], 'x-pedigree-code': 'invalid_json' };
    const same = [
      of({ headers: { ...given.headers, ...marks } }),
      of({ redelivered: true, userId: 'erp' }),
      identityOf({ ...deadLetterEnvelope(given, info, ownUser), body }),
      identityOf({ ...copyOf(given, ownUser), body }),
    ];
    expect(new Set([of({}), ...same, incomingOf({ ...given, body }, { patienceMs: 1, ownUser }).id]).size).toBe(1);
  });

  const LATER = { timestamp: 1_700_000_001, headers: { traceparent: '00-2-2-01' } };

  it('is that of its message id, also when its publisher repeats it later', () => expect(of(LATER)).toBe(of({})));

  it.each([undefined, ''])('is that of all that was given where the message id is %j', (messageId) =>
    expect(
      new Set(
        [{}, ...Object.entries(LATER).map(([name, value]) => ({ [name]: value }))].map((over) =>
          of({ messageId, ...over }),
        ),
      ).size,
    ).toBe(3),
  );

  it('is another with another message id', () => expect(of({ messageId: 'm-2' })).not.toBe(of({})));

  it('is another with another body', () => expect(of({}, Buffer.from('[]'))).not.toBe(of({})));
});

describe('a message as the port gives it', () => {
  it('has its headers as text and no id that it was not given', () => {
    expect(incomingOf({ headers: { n: 1, s: 'text', none: undefined }, body }, { patienceMs: 7, ownUser })).toEqual({
      id: expect.any(String) as unknown,
      body,
      contentType: 'application/octet-stream',
      headers: { n: '1', s: 'text', none: 'null' },
      deliveries: 1,
      patienceMs: 7,
    });
  });
});

describe('the publisher of a message', () => {
  it.each([
    ['whoever has given no name', {}, undefined],
    ['whoever has given no name, and a header of ours', { headers: { 'x-pedigree-publisher': 'boss' } }, undefined],
    ['whom the broker vouches for', { userId: 'erp' }, 'erp'],
    [
      'whom the broker vouches for, whatever header he sends',
      { userId: 'erp', headers: { 'x-pedigree-publisher': 'boss' } },
      'erp',
    ],
    ['ourselves', { userId: 'pedigree' }, 'pedigree'],
    ['for whom we have copied it', { userId: 'pedigree', headers: { 'x-pedigree-publisher': 'erp' } }, 'erp'],
    [
      'ourselves, where the header says nothing',
      { userId: 'pedigree', headers: { 'x-pedigree-publisher': '' } },
      'pedigree',
    ],
  ])('is %s', (_, message, publisher) => expect(publisherOf(message, ownUser)).toBe(publisher));

  it('stays through copies and copies of copies, and nobody becomes somebody by them', () => {
    const again = (message: Parameters<typeof copyOf>[0]) =>
      copyOf(deadLetterEnvelope(copyOf(message, ownUser), info, ownUser), ownUser);
    expect(publisherOf(again({ ...given, userId: 'erp' }), ownUser)).toBe('erp');
    expect(again({ ...given, userId: 'erp' })).toMatchObject({ userId: 'pedigree', headers: { 'erp-batch': '7' } });
    expect(publisherOf(again(given), ownUser)).toBeUndefined();
    expect(again(given)).toEqual({ ...given, durable: true, mandatory: true });
    expect(
      deadLetterOf({ ...deadLetterEnvelope({ ...given, userId: 'erp' }, info, ownUser), body }, limits),
    ).toMatchObject({
      publisher: 'erp',
      headers: { 'erp-batch': '7' },
    });
    expect(
      incomingOf({ ...again({ ...given, userId: 'erp' }), body } as never, { patienceMs: 7, ownUser }),
    ).toMatchObject({ publisher: 'erp', headers: { 'erp-batch': '7', nested: '{"a":1}' } });
  });
});
