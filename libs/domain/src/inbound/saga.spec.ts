import { describe, expect, it } from '@jest/globals';
import { inboundStream, type InboundEvent } from './events.js';
import type { InboundCommand } from './decide.js';
import {
  DOWNLOAD,
  follow,
  observe,
  OTHERS_ID,
  RECEIPT,
  seen,
  seenIncoming,
  seenOutgoing,
  SHA,
} from '../../test/given-inbound.js';
import { INBOUND_SAGA, reactToInboundEvent, type PlannedInboundTask } from './saga.js';

const RULES = { statusAfterSendMs: 3_000, receiptAfterStatusMs: 5_000, failedGraceMs: 0, statusGridMs: 1_000 };
const BEGIN = Date.parse('2026-03-01T10:00:00.250Z');

/** The tasks that follow from these events, recorded a second apart: key and ms after the first event. */
function planned(events: InboundEvent[], rules: Parameters<typeof reactToInboundEvent>[0] = RULES): [string, number][] {
  const react = reactToInboundEvent(rules);
  let state = INBOUND_SAGA.initial;
  const tasks: PlannedInboundTask[] = [];
  for (const [n, event] of events.entries()) {
    const after = react(state, {
      stream: inboundStream(OTHERS_ID),
      position: BigInt(n + 1),
      ...event,
      handledAt: new Date(BEGIN + n * 1_000),
    });
    state = after.state;
    tasks.push(...after.tasks);
  }
  return tasks.map((task) => [
    `${task.lane} ${task.key.replace(OTHERS_ID, 'it')}`,
    Math.max(0, task.dueAt.getTime() - BEGIN),
  ]);
}

const UNREADABLE: InboundCommand = {
  type: 'RecordDownload',
  download: { documentSha256: SHA, byteLength: 2, content: { problem: 'no XML' } },
};
const ACCEPTED: InboundCommand = {
  type: 'RecordReceipt',
  receipt: { receiptSha256: SHA, result: 'accepted', acceptedAt: '2026-03-01T10:00:02.000Z', errorCount: 0 },
};
const NO_BYTES = { type: 'GiveUpDownload', reason: 'not_found', attempts: 14 } as const;
const AGAIN = { type: 'AskAgain', account: 'second' } as const;
const NO_RECEIPT = { type: 'GiveUpReceipt', reason: 'not_found', attempts: 14 } as const;
const life = (first: InboundEvent, ...commands: Parameters<typeof follow>[1][]): InboundEvent[] => [
  first,
  ...follow([first], ...commands),
];

describe('what follows for a document of others', () => {
  it('that came in: it is fetched, then tied to ours; no receipt is asked for', () => {
    expect(planned(life(seen(seenIncoming), DOWNLOAD))).toEqual([
      ['main/download inbound_download:it', 0],
      ['internal inbound_link:it', 1_000],
    ]);
  });

  it('that brings goods: the contents of its containers are sought, where that is wanted and it can be read', () => {
    const of607 = (docType: number): boolean => docType === 607;
    const sought = (events: InboundEvent[], seeksContents = of607) =>
      planned(events, { ...RULES, seeksContents }).filter(([name]) => name.includes('seek_contents'));
    const incoming = life(seen(seenIncoming), DOWNLOAD);
    expect(sought(incoming)).toEqual([['internal seek_contents:it', 2_000]]);
    expect(sought(life(seen(seenIncoming), UNREADABLE))).toEqual([]);
    expect(sought(life(seen({ ...seenIncoming, status: 'failed' }), DOWNLOAD))).toEqual([]);
    expect(sought(incoming, (docType) => !of607(docType))).toEqual([]);
    const outgoing = life(seen({ ...seenOutgoing, status: 'processed' }), DOWNLOAD, ACCEPTED);
    expect([outgoing.at(-1), sought(outgoing)]).toMatchObject([{ data: { outcome: 'accepted', docType: 607 } }, []]);
  });

  it(
    'that went out in our name: status on the grid after 3 s, receipt 5 s after the answer that showed the final ' +
      'status',
    () => {
      expect(planned(life(seen(seenOutgoing), observe('processed'), DOWNLOAD, RECEIPT))).toEqual([
        ['main/status inbound_status:it', 3_750],
        ['main/download inbound_download:it', 1_000],
        ['main/receipt inbound_receipt:it', 6_000],
      ]);
    },
  );

  it('that was final when it was seen: the list’s answer counts as the one that showed it', () => {
    expect(planned([seen({ ...seenOutgoing, status: 'failed_result_ready' })])).toEqual([
      ['main/download inbound_download:it', 0],
      ['main/receipt inbound_receipt:it', 5_000],
    ]);
  });

  it('that FAILED: it is read again after the grace, and then fetched', () => {
    const rules = { ...RULES, failedGraceMs: 60_000 };
    expect(planned([seen({ ...seenOutgoing, status: 'failed' })], rules)).toEqual([
      ['main/status inbound_status:it:after-failed', 60_000],
    ]);
    expect(planned(life(seen({ ...seenOutgoing, status: 'failed' }), observe('failed', true)), rules).at(-1)).toEqual([
      'main/download inbound_download:it',
      1_000,
    ]);
    expect(planned([seen({ ...seenOutgoing, status: 'failed' })])).toEqual([['main/download inbound_download:it', 0]]);
  });

  it('that still goes on: the status task comes again by itself, and makes no second one', () => {
    expect(
      planned(life(seen({ ...seenOutgoing, status: 'uploading' }), observe('processing'))).map(([key]) => key),
    ).toEqual(['main/status inbound_status:it']);
  });

  it('that was given up and is asked for again: only that, by tasks of its own, after the end too', () => {
    const given = life(seen(seenOutgoing), observe('processed'), DOWNLOAD, NO_RECEIPT, AGAIN, ACCEPTED);
    expect(planned(given).slice(3)).toEqual([['second/receipt inbound_receipt:it:again-6', 10_000]]);
    const incoming = life(seen(seenIncoming), NO_BYTES, AGAIN, DOWNLOAD);
    expect(planned(incoming, { ...RULES, seeksContents: () => true }).slice(2)).toEqual([
      ['second/download inbound_download:it:again-4', 3_000],
      ['internal inbound_link:it:again-4', 4_000],
      ['internal seek_contents:it:again-4', 5_000],
    ]);
  });

  it('that is over: nothing is remembered of it', () => {
    const react = reactToInboundEvent(RULES);
    for (const event of [
      life(seen(seenIncoming), DOWNLOAD).at(-1),
      life(seen(seenIncoming), { type: 'Recognise', requestId: 'r' }).at(-1),
    ]) {
      const { state, tasks } = react(
        { account: 'main', direction: 'incoming', isOver: false },
        { stream: inboundStream(OTHERS_ID), ...(event as InboundEvent), position: 9n, handledAt: new Date() },
      );
      expect([INBOUND_SAGA.isDone(state), tasks]).toEqual([true, []]);
    }
  });
});
