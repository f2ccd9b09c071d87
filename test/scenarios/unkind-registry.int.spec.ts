import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../apps/sandbox/test/client.js';
import type { Sandbox, SandboxOptions } from '../../apps/sandbox/src/main.js';
import * as doc from '../../apps/sandbox/test/documents.js';
import type { DocumentDetail, InboundSummary } from '#read-models';
import { until } from '../support/until.js';
import { quickStack } from './quick-stack.js';
import type { ProfileName, Stack } from './stack.js';

const LIMIT_MS = 180_000;
/** A consignment that was shipped to somebody else: to accept a pack of it is rejected. */
const FOREIGN = 900;
const PAGE = 100;
/** More than a page of the list, all within its overlap. */
const INCOMING = PAGE + 10;
const LATE_MS = 3_000;
/** Longer than five checks take that follow each other in the interval of status reads. */
const NOT_READY_MS = 5_000;

/** What the interface leaves open, each the other way round than the sandbox's default. */
const WORLDS: { profile: ProfileName; options: SandboxOptions }[] = [
  { profile: 'interface-v1', options: { listOrder: 'oldest', receiptStatus: 'mixed', groupStatuses: 'other' } },
  { profile: 'mdlp', options: { listOrder: 'oldest', receiptStatus: 'processed' } },
];

interface Ended {
  document?: DocumentDetail;
  group?: { phase: string; outcome?: string; halt?: string; members: { outcome?: string; cause?: string }[] };
}

const { accept, pack } = doc;
const OUTCOMES = ['accepted', 'partial', 'rejected', 'partial', 'rejected', 'accepted'];
const xmlOf = (outcome: string, n: number): string =>
  accept(outcome === 'accepted' ? [pack(n)] : outcome === 'partial' ? [pack(n), pack(n, FOREIGN)] : [pack(n, FOREIGN)]);

describe.each(WORLDS)(
  'a registry that is unkind where the interface says nothing, by $profile',
  ({ profile, options }) => {
    let stack: Stack;
    beforeAll(async () => {
      const knobs = { short_page: 0.2, reordered_page: 0.2, cut_answer: 0.05 };
      stack = await quickStack(
        profile,
        { ...options, knobs, seed: 3, repeatedRequestId: 'take', tellOwnMoves: true },
        { listPollMs: 300 },
      );
    }, LIMIT_MS);
    afterAll(() => stack?.stop());

    const said = (commandId: string): Promise<Ended> => stack.client.get<Ended>(`/v1/commands/${commandId}`);
    const outcomeOf = async (commandId: string): Promise<string | undefined> =>
      (await said(commandId)).document?.outcome;
    async function give(commandId: string, xml: string): Promise<void> {
      for await (const result of stack.client.send([{ command_id: commandId, account: 'main', xml }]))
        if ('error' in result) throw new Error(JSON.stringify(result.error));
    }

    it('has every document end as its receipt says, whatever status it lies behind', async () => {
      for (const [n, outcome] of OUTCOMES.entries()) await give(`receipt-${n}`, xmlOf(outcome, n));
      const outcomes = () => Promise.all(OUTCOMES.map((_, n) => outcomeOf(`receipt-${n}`)));
      await until('all end', async () => (await outcomes()).every((one) => one !== undefined), LIMIT_MS);
      expect(await outcomes()).toEqual(OUTCOMES);
    }, 300_000);

    it('has a group halt at a member whose rejection lies behind a good status, after a start that was lost', async () => {
      const lost = { fault: 'drop_connection_before_work', method: 'group_start', times: 1 };
      await stack.control('/faults', lost);
      await stack.control('/faults', {
        fault: 'group_not_ready',
        method: 'group_check',
        times: 1,
        value: NOT_READY_MS,
      });
      const members = [accept([pack(20)]), accept([pack(21, FOREIGN)]), accept([pack(22)])].map((xml, n) => ({
        command_id: `member-${n}`,
        xml,
      }));
      const answer = await fetch(`${stack.gateway.url}/v1/commands`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ command_id: 'group', account: 'main', type: 'send_group', group: { members } }),
      });
      expect(answer.status).toBe(202);
      await until('it ends', async () => (await said('group')).group?.phase === 'concluded', LIMIT_MS);
      expect((await said('group')).group).toMatchObject({
        halt: 'member_rejected',
        members: [{ outcome: 'accepted' }, { outcome: 'rejected' }, { outcome: 'failed', cause: 'not_processed' }],
      });
    }, 300_000);

    it('has everything that came in, in a list that begins with the oldest and shows some late', async () => {
      const xml = doc
        .moveOrder([pack(50)])
        .replaceAll('move_order', 'move_order_notification')
        .replace('"415"', '"601"');
      await stack.control('/faults', { fault: 'late_in_list', method: 'list_incoming', times: 5, value: LATE_MS });
      const came: string[] = [];
      const from = { from: 'supplier-a', to: 'own', xml };
      for (let n = 0; n < INCOMING; n += 1) {
        // Filters know whole seconds: what follows the first page must be of a later one.
        if (n === PAGE) await stack.control('/clock', { advanceMs: 3_000 });
        came.push((await stack.control<{ document_id: string }>('/incoming', from)).document_id);
      }
      const areSeen = async (): Promise<boolean> => {
        const ids = new Set<string>();
        for await (const { documentId } of stack.client.list<InboundSummary>('/v1/inbound')) ids.add(documentId);
        return came.every((id) => ids.has(id));
      };
      await until('all are seen', areSeen, LIMIT_MS);
    }, 300_000);

    it('has a second document under a request_id of ours alarmed', async () => {
      await give('twice', accept([pack(30)]));
      await until('it ends', async () => (await outcomeOf('twice')) === 'accepted', LIMIT_MS);
      const requestId = (await said('twice')).document?.requestId ?? randomUUID();
      const somebody = new TestClient(stack.sandbox as Sandbox);
      // His answers may be cut off, too.
      const isTaken = (): Promise<boolean> =>
        somebody.send(accept([pack(31)]), { account: 'north', requestId }).then(
          ({ status }) => status === 200,
          () => false,
        );
      await until('the second is taken', isTaken, LIMIT_MS);
      const alarmed = async (): Promise<boolean> =>
        (await stack.client.get<DocumentDetail>(`/v1/documents/${requestId}`)).timeline?.some(
          ({ type }) => type === 'DuplicateDetected',
        ) === true;
      await until('the alarm is raised', alarmed, LIMIT_MS);
    }, 300_000);

    it('has broken no rule meanwhile', async () => {
      const { byRule } = await stack.control<{ byRule: Record<string, number> }>('/violations');
      expect(Object.keys(byRule)).toEqual(['duplicate_request_id']);
    });
  },
);
