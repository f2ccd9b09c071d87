import type { HandlerContext } from '#tasks';
import type { InboundContext } from './inbound/context.js';
import { fetchContent } from './container/fetch-content.js';
import { seekContents } from './container/seek-contents.js';
import { inboundLanes } from './inbound/lanes.js';
import { checkedLane, type Lane, type TaskOf, type TypedLane } from './lane.js';
import type { TaskContext } from './registry-tasks/context.js';
import { downloadCopy } from './registry-tasks/download.js';
import { noteGroupPredecessor, notePredecessor, releaseDependents } from './registry-tasks/dependents.js';
import { concludeMembers, noteMember, settleGroup } from './registry-tasks/group-members.js';
import { rejudgeAtGate } from './registry-tasks/gate.js';
import { rejudgeSuspension } from './registry-tasks/suspension-stop.js';
import { checkGroup, lookAtGroup, startGroup } from './registry-tasks/group-start.js';
import { decideHold, holdDocument } from './registry-tasks/hold-decision.js';
import { runCommands } from './registry-tasks/internal.js';
import { lapseHolds, liftItemWait, refuseRing, waitForItems } from './registry-tasks/item-waits.js';
import { lookUp } from './registry-tasks/look-up.js';
import { fetchReceipt } from './registry-tasks/receipt.js';
import { send } from './registry-tasks/send.js';
import { readStatuses } from './registry-tasks/status.js';
import { upload } from './registry-tasks/upload.js';
import { heldBack } from './restoration/hold-back.js';

/** While an interval is in force, few hands keep the lane busy: more would only hold slots that others could use. */
const HANDS_WITH_INTERVAL = 4;
const HANDS_WITHOUT_INTERVAL = 32;
const INTERNAL_HANDS = 64;
const STATUS_HANDS = 2;
/** Each holds a large document in memory for as long as it goes up. */
const UPLOAD_HANDS = 2;

/** The lanes that call nobody, but for what earlier versions have planned there. */
const internalLanes = (context: TaskContext): TypedLane[] => [
  {
    name: 'intake',
    kinds: { run_command: { handleMany: (tasks) => runCommands(context, tasks) } },
    concurrency: 1,
    inOrder: true,
  },
  {
    name: 'internal',
    kinds: {
      note_predecessor: { handle: (task) => notePredecessor(context, task) },
      note_group_predecessor: { handle: (task) => noteGroupPredecessor(context, task) },
      release_dependents: { handle: (task) => releaseDependents(context, task) },
      decide_hold: { handle: (task) => decideHold(context, task) },
      wait_for_items: { handle: (task) => waitForItems(context, task) },
      lift_item_wait: { handle: (task) => liftItemWait(context, task) },
      refuse_ring: { handle: (task) => refuseRing(context, task) },
      rejudge_at_gate: { handle: (task) => rejudgeAtGate(context, task) },
      rejudge_suspension: { handle: (task) => rejudgeSuspension(context, task) },
      hold_document: { handle: (task) => holdDocument(context, task) },
      lapse_holds: { handle: (task) => lapseHolds(context, task) },
      note_member: { handle: (task) => noteMember(context, task) },
      conclude_members: { handle: (task) => concludeMembers(context, task) },
    },
    concurrency: INTERNAL_HANDS,
  },
];

const handsFor = ({ intervalMs }: { intervalMs: number }): number =>
  intervalMs > 0 ? HANDS_WITH_INTERVAL : HANDS_WITHOUT_INTERVAL;

/** The lanes of an account that change something at the registry: they stand still while it is paused. */
function changingLanes(context: TaskContext, account: string): TypedLane[] {
  const { gates, profile } = context;
  const held = () => gates.isPaused(account);
  return [
    {
      name: `${account}/send`,
      kinds: {
        send: { handle: heldBack(context, (task: TaskOf<'send'>, by: HandlerContext) => send(context, task, by)) },
      },
      concurrency: handsFor(profile.operations.send),
      held: () => gates.isHeld(account),
    },
    {
      name: `${account}/upload`,
      kinds: {
        upload: {
          handle: heldBack(context, (task: TaskOf<'upload'>, by: HandlerContext) => upload(context, task, by)),
        },
      },
      concurrency: UPLOAD_HANDS,
      held,
    },
    {
      name: `${account}/group_check`,
      kinds: { group_check: { handle: (task) => checkGroup(context, task) } },
      concurrency: HANDS_WITH_INTERVAL,
      held,
    },
    {
      name: `${account}/group_start`,
      kinds: {
        group_start: {
          handle: heldBack(context, (task: TaskOf<'group_start'>, by: HandlerContext) => startGroup(context, task, by)),
        },
      },
      concurrency: HANDS_WITH_INTERVAL,
      held,
    },
  ];
}

/** The lanes of an account that only read. */
const readingLanes = (context: TaskContext, account: string, pageSize: number): TypedLane[] => [
  {
    name: `${account}/status`,
    kinds: {
      status: { handleMany: (tasks) => readStatuses(context, tasks), most: pageSize },
      group_look: { handle: (task) => lookAtGroup(context, task) },
      settle_group: { handle: (task) => settleGroup(context, task) },
      conclude_members: { handle: (task) => concludeMembers(context, task) },
    },
    concurrency: STATUS_HANDS,
    batch: pageSize,
  },
  {
    name: `${account}/receipt`,
    kinds: { receipt: { handle: (task) => fetchReceipt(context, task) } },
    concurrency: handsFor(context.profile.operations.receipt),
  },
  {
    name: `${account}/download`,
    kinds: { download: { handle: (task) => downloadCopy(context, task) } },
    concurrency: HANDS_WITH_INTERVAL,
  },
  {
    name: `${account}/find_by_request_id`,
    kinds: { look_up: { handle: (task) => lookUp(context, task) } },
    concurrency: HANDS_WITH_INTERVAL,
  },
];

/**
 * The lanes of all accounts, and the two that call nobody; with those of documents of others where they are followed.
 */
export function lanesOf(context: TaskContext, accounts: string[], inbound?: InboundContext): Lane[] {
  const pageSize = context.profile.operations.list_outgoing.pageSize ?? 100;
  const own = [
    ...internalLanes(context),
    ...accounts.flatMap((one) => [...changingLanes(context, one), ...readingLanes(context, one, pageSize)]),
  ];
  const ofOthers = inbound === undefined ? [] : inboundLanes(inbound, { accounts, pageSize });
  return together([...own, ...ofOthers, ...lanesOfContents(inbound, accounts)]).map(checkedLane);
}

/** What is served for contents of containers: what looks for them, and of each account its calls. */
function lanesOfContents(inbound: InboundContext | undefined, accounts: string[]): TypedLane[] {
  if (inbound?.containers === undefined) return [];
  const context = { ...inbound, containers: inbound.containers };
  return [
    { name: 'internal', kinds: { seek_contents: { handle: (task) => seekContents(context, task) } }, concurrency: 1 },
    ...accounts.map((account): TypedLane => ({
      name: `${account}/sscc_full_hierarchy`,
      kinds: { container_content: { handle: (task) => fetchContent(context, task) } },
      concurrency: 1,
    })),
  ];
}

/** Lanes of one name are one lane that serves the kinds of all, with as many hands as the first. */
export function together<L extends Lane<object>>(lanes: L[]): L[] {
  const byName = new Map<string, L>();
  for (const lane of lanes) {
    const known = byName.get(lane.name);
    byName.set(lane.name, known === undefined ? lane : { ...known, kinds: { ...known.kinds, ...lane.kinds } });
  }
  return [...byName.values()];
}
