import type { QueryBus } from '@nestjs/cqrs';
import type { z } from 'zod';
import type { AcknowledgedCommand, CommandKind } from '../intake/command-table.js';
import type { group } from './group-answers.js';
import { FindCommand, GroupById } from './queries.js';
import { snakeCase } from './snake-case.js';

/** What a command of these kinds asked for is a group. */
export const isGroupKind = (kind: CommandKind): boolean =>
  kind === 'group' || kind === 'split' || kind === 'resumption';

/**
 * One group as it stands; known from the moment at which its command was acknowledged. Undefined when there is no such
 * group.
 */
export async function groupAnswer(
  queries: QueryBus,
  groupId: string,
  command?: AcknowledgedCommand,
): Promise<z.infer<typeof group> | undefined> {
  const detail = await queries.execute(new GroupById(groupId));
  if (detail !== undefined) return snakeCase(detail);
  const waiting = command ?? (await queries.execute(new FindCommand({ requestId: groupId })));
  if (waiting === undefined || !isGroupKind(waiting.kind)) return undefined;
  const { commandId, account, receivedAt } = waiting;
  const sentence = 'Acknowledged and stored; it will be registered in a moment.';
  return snakeCase({
    groupId,
    commandId,
    account,
    phase: 'acknowledged' as const,
    sentence,
    acknowledgedAt: receivedAt.toISOString(),
  });
}
