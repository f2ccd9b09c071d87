import type { Lane } from '../lane.js';
import type { InboundContext } from './context.js';
import { fetchInbound, fetchInboundReceipt, readInboundStatuses } from './follow.js';
import { linkInbound } from './link.js';
import { noteListed } from './note-listed.js';
import { readList } from './read-list.js';

/**
 * What is served for documents of others, most of it in the lanes that serve ours: a method's budget is one, whatever
 * it is used for.
 */
export function inboundLanes(
  context: InboundContext,
  { accounts, pageSize }: { accounts: string[]; pageSize: number },
): Lane[] {
  const internal: Lane = {
    name: 'internal',
    kinds: {
      note_listed: { handle: (task) => noteListed(context, task) },
      inbound_link: { handle: (task) => linkInbound(context, task) },
    },
    concurrency: 1,
  };
  const ofAccount = (account: string): Lane[] => [
    {
      name: `${account}/list_incoming`,
      kinds: { list_incoming: { handle: (task, { signal }) => readList(context, task, signal) } },
      concurrency: 1,
    },
    {
      name: `${account}/list_outgoing`,
      kinds: { list_outgoing: { handle: (task, { signal }) => readList(context, task, signal) } },
      concurrency: 1,
    },
    {
      name: `${account}/status`,
      kinds: { inbound_status: { handleMany: (tasks) => readInboundStatuses(context, tasks), most: pageSize } },
      concurrency: 1,
    },
    {
      name: `${account}/receipt`,
      kinds: { inbound_receipt: { handle: (task) => fetchInboundReceipt(context, task) } },
      concurrency: 1,
    },
    {
      name: `${account}/download`,
      kinds: { inbound_download: { handle: (task) => fetchInbound(context, task) } },
      concurrency: 1,
    },
  ];
  return [internal, ...accounts.flatMap(ofAccount)];
}
