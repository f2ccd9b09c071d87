import type { QueryBus } from '@nestjs/cqrs';
import type { z } from 'zod';
import type { AcknowledgedCommand } from '../intake/command-table.js';
import type { document } from './answers.js';
import { DocumentByRequestId, FindCommand } from './queries.js';
import { isGroupKind } from './group-answer.js';
import { snakeCase } from './snake-case.js';

/**
 * One document as it stands. What was acknowledged can be looked at from that moment on: until its command has run,
 * what is known of it is told from there. Undefined when there is no such document.
 */
export async function documentAnswer(
  queries: QueryBus,
  requestId: string,
  command?: AcknowledgedCommand,
): Promise<z.infer<typeof document> | undefined> {
  const detail = await queries.execute(new DocumentByRequestId(requestId));
  if (detail !== undefined) return snakeCase(detail);
  const waiting = command ?? (await queries.execute(new FindCommand({ requestId })));
  return waiting === undefined || isGroupKind(waiting.kind) ? undefined : acknowledged(waiting);
}

function acknowledged({ receivedAt, kind: _, ...command }: AcknowledgedCommand): z.infer<typeof document> {
  const sentence = 'Acknowledged and stored; it will be registered in a moment.';
  return snakeCase({ ...command, phase: 'acknowledged' as const, sentence, acknowledgedAt: receivedAt.toISOString() });
}
