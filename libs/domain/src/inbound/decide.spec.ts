import { describe, expect, it } from '@jest/globals';
import { channelOf, type InboundEvent } from './events.js';
import {
  content,
  DOWNLOAD,
  follow,
  inboundAfter,
  observe,
  OTHERS_ID,
  RECEIPT,
  seen,
  seenIncoming,
  seenOutgoing,
  SHA,
} from '../../test/given-inbound.js';

const types = (events: InboundEvent[]): string[] => events.map((event) => event.type);
const conclusionOf = (events: InboundEvent[]): object | undefined =>
  events.find((event) => event.type === 'InboundConcluded')?.data;

describe('a document of others', () => {
  it('is seen once, however often a list shows it', () => {
    expect(follow([], { type: 'See', seen: seenIncoming }, { type: 'See', seen: seenIncoming })).toEqual([
      seen(seenIncoming),
    ]);
  });

  it('that came in counts as soon as it is fetched, at the registry’s time of it', () => {
    const events = follow([seen(seenIncoming)], DOWNLOAD);
    expect(types(events)).toEqual(['InboundDownloaded', 'InboundConcluded']);
    expect(conclusionOf(events)).toMatchObject({
      outcome: 'accepted',
      docType: 607,
      isReadable: true,
      documentSha256: SHA,
      acceptedAt: '2026-03-01T10:00:01.000Z',
      requestId: 'r-theirs',
    });
  });

  it('that went out in our name counts when status, bytes and receipt are there, in whatever order they come', () => {
    for (const commands of [
      [observe('processed'), DOWNLOAD, RECEIPT],
      [observe('processed'), RECEIPT, DOWNLOAD],
    ]) {
      const events = follow([seen(seenOutgoing)], ...commands);
      expect(types(events).at(-1)).toBe('InboundConcluded');
      expect(events.filter((event) => event.type === 'InboundConcluded')).toHaveLength(1);
      expect(conclusionOf(events)).toMatchObject({
        outcome: 'partial',
        channel: 'cabinet',
        receiptSha256: SHA,
        acceptedAt: '2026-03-01T10:00:02.000Z',
      });
    }
    expect(types(follow([seen(seenOutgoing)], observe('processed'), DOWNLOAD))).not.toContain('InboundConcluded');
  });

  it('whose status is known makes no event of it, and neither does anything after its end', () => {
    expect(follow([seen(seenOutgoing)], observe('processing'))).toEqual([]);
    const over = [seen(seenIncoming), ...follow([seen(seenIncoming)], DOWNLOAD)];
    expect(
      follow(over, observe('failed'), DOWNLOAD, RECEIPT, { type: 'GiveUpDownload', reason: 'late', attempts: 9 }),
    ).toEqual([]);
  });

  it('that FAILED is over with its bytes, and says so once more when the grace has passed', () => {
    const events = follow(
      [seen(seenOutgoing)],
      observe('failed'),
      observe('failed', true),
      observe('failed', true),
      DOWNLOAD,
    );
    expect(types(events)).toEqual([
      'InboundStatusObserved',
      'InboundStatusObserved',
      'InboundDownloaded',
      'InboundConcluded',
    ]);
    expect(conclusionOf(events)).toMatchObject({ outcome: 'failed' });
  });

  it('that FAILED and turned out otherwise ends by its receipt', () => {
    expect(
      conclusionOf(follow([seen(seenOutgoing)], observe('failed'), observe('processed', true), DOWNLOAD, RECEIPT)),
    ).toMatchObject({ outcome: 'partial' });
  });
});

describe('what cannot be had', () => {
  it('the bytes: it is shown as concluded without them, and counts for nothing', () => {
    const events = follow([seen(seenIncoming)], { type: 'GiveUpDownload', reason: 'not_found', attempts: 6 });
    expect(types(events)).toEqual(['InboundDownloadGivenUp', 'InboundConcluded']);
    expect(conclusionOf(events)).toMatchObject({ outcome: 'accepted', isReadable: false, docType: 607 });
    expect(conclusionOf(events)).not.toHaveProperty('documentSha256');
  });

  it('the receipt: nobody can say how it ended', () => {
    const events = follow([seen(seenOutgoing)], observe('processed'), DOWNLOAD, {
      type: 'GiveUpReceipt',
      reason: 'not_found',
      attempts: 6,
    });
    expect(conclusionOf(events)).toMatchObject({ outcome: 'undetermined', isReadable: true });
  });

  it('bytes that are no document: they are kept, and marked as unreadable', () => {
    const events = follow([seen(seenIncoming)], {
      type: 'RecordDownload',
      download: { documentSha256: SHA, byteLength: 3, content: { problem: 'line 1: not XML' } },
    });
    expect(conclusionOf(events)).toMatchObject({ isReadable: false, documentSha256: SHA });
  });
});

describe('what was given up', () => {
  const noBytes = { type: 'GiveUpDownload', reason: 'not_found', attempts: 14 } as const;
  const noReceipt = { type: 'GiveUpReceipt', reason: 'not_found', attempts: 14 } as const;
  const again = { type: 'AskAgain', account: 'second' } as const;

  it('is asked for again through an account, once, and what comes then counts instead', () => {
    const link = { type: 'Link', requestId: 'r-ours', by: 'request_id' } as const;
    const events = follow([seen(seenIncoming)], noBytes, link, again, again, DOWNLOAD, again);
    expect(types(events).slice(3)).toEqual(['InboundAskedAgain', 'InboundDownloaded', 'InboundConcluded']);
    expect(events[3]?.data).toEqual({
      ...{ documentId: OTHERS_ID, direction: 'incoming', account: 'second', parts: ['document'] },
    });
    expect(conclusionOf(events.slice(3))).toMatchObject({ documentSha256: SHA, outcome: 'accepted', again: true });
    expect(inboundAfter([seen(seenIncoming), ...events])).toMatchObject({
      phase: 'concluded',
      link: { by: 'request_id' },
    });
  });

  it('may be given up again, and asked for again', () => {
    const events = follow([seen(seenIncoming)], noBytes, again, noBytes, again);
    expect(types(events)).toEqual([
      ...['InboundDownloadGivenUp', 'InboundConcluded', 'InboundAskedAgain'],
      ...['InboundDownloadGivenUp', 'InboundConcluded', 'InboundAskedAgain'],
    ]);
  });

  it('stands for bytes that cannot be read too, until they come in one that can', () => {
    const download = { documentSha256: 'd'.repeat(64), byteLength: 3, content: { problem: 'line 1: not XML' } };
    const unreadable = { type: 'RecordDownload', download } as const;
    const events = follow([seen(seenIncoming)], unreadable, again, unreadable, again, DOWNLOAD, again);
    expect(types(events).filter((type) => type === 'InboundAskedAgain')).toHaveLength(2);
    expect(conclusionOf(events.slice(-1))).toMatchObject({ isReadable: true, documentSha256: SHA, again: true });
  });

  it('the receipt: what is here already is not asked for', () => {
    const events = follow([seen(seenOutgoing)], observe('processed'), DOWNLOAD, noReceipt, again, RECEIPT);
    expect(events.find((one) => one.type === 'InboundAskedAgain')?.data).toMatchObject({ parts: ['receipt'] });
    expect(conclusionOf(events.slice(4))).toMatchObject({ documentSha256: SHA, outcome: 'partial', again: true });
  });

  it('before the end: the other part is waited for as before, and it concludes once', () => {
    const events = follow([seen(seenOutgoing)], observe('processed'), noBytes, again, RECEIPT, DOWNLOAD);
    expect(types(events).filter((type) => type === 'InboundConcluded')).toHaveLength(1);
    expect(conclusionOf(events)).not.toHaveProperty('again');
  });

  it.each([
    ['nothing is seen', []],
    ['it is still asked for', [seen(seenIncoming)]],
    ['it is there', [seen(seenIncoming), ...follow([seen(seenIncoming)], DOWNLOAD)]],
    [
      'it is ours',
      [seen(seenIncoming), ...follow([seen(seenIncoming)], noBytes, { type: 'Recognise', requestId: 'r' })],
    ],
  ])('only: where %s, nothing follows', (_, given) => {
    expect(follow(given, again)).toEqual([]);
  });
});

describe('its tie to a document of ours', () => {
  it('is found once, before or after its end', () => {
    const link = { type: 'Link', requestId: 'r-ours', by: 'items', sharedItems: 2 } as const;
    expect(types(follow([seen(seenIncoming)], link, DOWNLOAD, { ...link, requestId: 'r-other' }))).toEqual([
      'InboundLinked',
      'InboundDownloaded',
      'InboundConcluded',
    ]);
    expect(types(follow([seen(seenIncoming)], DOWNLOAD, link))).toEqual([
      'InboundDownloaded',
      'InboundConcluded',
      'InboundLinked',
    ]);
    expect(inboundAfter([seen(seenIncoming), ...follow([seen(seenIncoming)], DOWNLOAD, link)])).toMatchObject({
      phase: 'concluded',
      content,
      link: { requestId: 'r-ours', by: 'items' },
    });
  });

  it('ends its own life when it turns out to be ours', () => {
    const recognise = { type: 'Recognise', requestId: 'r-ours' } as const;
    for (const before of [[], [observe('processed'), DOWNLOAD, RECEIPT]]) {
      const events = follow([seen(seenOutgoing)], ...before, recognise, recognise, observe('failed'), {
        type: 'Link',
        requestId: 'r-x',
        by: 'request_id',
      });
      expect(events.at(-1)).toEqual({
        type: 'InboundRecognised',
        data: { documentId: OTHERS_ID, requestId: 'r-ours' },
      });
      expect(inboundAfter([seen(seenOutgoing), ...events])).toMatchObject({ phase: 'ours', requestId: 'r-ours' });
    }
    expect(follow([], recognise)).toEqual([]);
  });

  it('of a damaged stream is not made: an event that cannot follow stops it', () => {
    expect(() =>
      inboundAfter([{ type: 'InboundLinked', data: { documentId: OTHERS_ID, requestId: 'r', by: 'items' } }]),
    ).toThrow('before InboundSeen');
    expect(() => inboundAfter([seen(seenIncoming), seen(seenIncoming)])).toThrow('InboundSeen in phase followed');
    expect(() =>
      inboundAfter([seen(seenIncoming), { type: 'InboundThought', data: {} } as unknown as InboundEvent]),
    ).toThrow('unknown inbound event');
  });
});

describe('its channel', () => {
  it.each([
    ['incoming', 607, 'api', 'counterparty'],
    ['outgoing', 10511, undefined, 'fiscal_operator'],
    ['outgoing', 10522, 'cabinet', 'fiscal_operator'],
    ['outgoing', 10531, undefined, 'disposal_registrar'],
    ['outgoing', 10501, undefined, 'disposal_registrar'],
    ['outgoing', 10319, undefined, 'emission_registrar'],
    ['outgoing', 431, 'cabinet', 'cabinet'],
    ['outgoing', 431, 'api', 'other_system'],
    ['outgoing', undefined, undefined, 'other_system'],
  ] as const)('%s %s, uploaded by %s: %s', (direction, docType, uploadedBy, channel) => {
    expect(channelOf({ direction, docType, uploadedBy })).toBe(channel);
  });
});
