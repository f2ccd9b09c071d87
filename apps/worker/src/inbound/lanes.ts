import type { TypedLane } from '../lane.js';
import { replan } from '../orphans/replan.js';
import type { InboundContext } from './context.js';
import { askAgain, fetchInbound, fetchInboundReceipt, readInboundStatuses } from './follow.js';
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
): TypedLane[] {
  const lane = (name: string, kinds: TypedLane['kinds']): TypedLane => ({ name, kinds, concurrency: 1 });
  const internal = lane('internal', {
    note_listed: { handle: (task) => noteListed(context, task) },
    ask_inbound_again: { handle: (task) => askAgain(context, task) },
    inbound_link: { handle: (task) => linkInbound(context, task) },
    replan: { handle: (task) => replan(context, task) },
  });
  const ofAccount = (account: string): TypedLane[] => [
    lane(`${account}/list_incoming`, {
      list_incoming: { handle: (task, { signal }) => readList(context, task, signal) },
    }),
    lane(`${account}/list_outgoing`, {
      list_outgoing: { handle: (task, { signal }) => readList(context, task, signal) },
    }),
    lane(`${account}/status`, {
      inbound_status: { handleMany: (tasks) => readInboundStatuses(context, tasks), most: pageSize },
    }),
    lane(`${account}/receipt`, { inbound_receipt: { handle: (task) => fetchInboundReceipt(context, task) } }),
    lane(`${account}/download`, { inbound_download: { handle: (task) => fetchInbound(context, task) } }),
  ];
  return [internal, ...accounts.flatMap(ofAccount)];
}
