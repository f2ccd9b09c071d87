import type { z } from 'zod';
import type { group as groupShape } from '../../../gateway/src/api/group-answers.js';
import { defined, sha256Hex } from '#kernel';
import type { GatewayClient } from '../gateway-client.js';
import { requestIdOfNamed } from '../named-document.js';
import { instant, out, table } from '../print.js';
import { holdsTable } from './holds-table.js';
import { readWhole, textOf } from './send.js';

type GroupAnswer = z.infer<typeof groupShape>;

/**
 * Prints one group with its members and its timeline. Returns 0 when it ended well or is under way, 2 when it stopped.
 */
export async function showGroup(gateway: GatewayClient, named: string, json: boolean): Promise<number> {
  const groupId = await requestIdOfNamed(gateway, named, 'group');
  const group = (await gateway.raw(`/v1/groups/${encodeURIComponent(groupId)}`)) as GroupAnswer;
  out(json ? JSON.stringify(group) : groupText(group));
  return 'halt' in group && group.halt !== undefined ? 2 : 0;
}

function groupText(group: GroupAnswer): string {
  if (group.phase === 'acknowledged')
    return `${group.group_id}  account ${group.account}\n${group.phase}: ${group.sentence}`;
  const parts = [
    `${group.group_id}  ${group.kind}  ${group.member_count} documents  account ${group.account}`,
    `${group.outcome ?? group.phase}: ${group.sentence}`,
  ];
  if (group.remedy !== undefined) parts.push(group.remedy);
  if (group.holds.length > 0) parts.push(`\n${holdsTable(group.holds)}`);
  parts.push(`\n${membersTable(group)}`, `\n${timelineTable(group)}`);
  return parts.join('\n');
}

type KnownGroup = Exclude<GroupAnswer, { phase: 'acknowledged' }>;

const membersTable = ({ members }: KnownGroup): string =>
  table(
    ['', 'command', 'document', 'type', 'items', 'state', 'instead'],
    members.map((one) => [
      ...[one.index + 1, one.command_id, one.request_id, one.doc_type, one.item_count],
      ...[one.cause ?? one.outcome ?? one.phase, one.superseded_by],
    ]),
  );

const timelineTable = ({ timeline }: KnownGroup): string =>
  table(
    ['at', 'event', 'what'],
    timeline.map((one) => [instant(one.at), one.type, one.sentence]),
  );

export interface ResumeOptions {
  /** XML file of the corrected document. */
  corrected?: string;
  /** Where its own is gone, or another is to send. */
  account?: string;
  reason: string;
}

/** Resumes a group that halted. The content names the corrected document: the same call again is a no-op. */
export async function resumeGroup(
  gateway: GatewayClient,
  named: string,
  { corrected, account, reason }: ResumeOptions,
): Promise<number> {
  const groupId = await requestIdOfNamed(gateway, named, 'group');
  const member = corrected === undefined ? {} : { corrected: await memberIn(corrected) };
  const taken = await gateway.resume(groupId, { ...member, ...defined({ account }), reason });
  out(`${taken.repeated ? 'resumed before' : 'resumed'}: group ${taken.request_id} carries on`);
  return 0;
}

async function memberIn(file: string): Promise<{ command_id: string; xml: string }> {
  const bytes = await readWhole(file);
  return { command_id: `file-${sha256Hex(bytes)}`, xml: textOf(file, bytes) };
}
