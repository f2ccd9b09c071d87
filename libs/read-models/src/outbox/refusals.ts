import type { CommandRefused } from '#domain';
import { type RecordedEvent, typedEvent } from '#event-store';
import { defined } from '#kernel';
import type { OutcomePayload } from './outcome-payload.js';

const AGAIN = 'Mend the message and publish it anew; nothing of this one was carried out.';
const REMEDIES: Record<string, string> = {
  backlog_full: 'Finish what is unfinished, then publish the message again; nothing of this one was carried out.',
  command_conflict:
    'The command_id was used before with other content, and that stands. Give this command an id of its own, if ' +
    'it is another one.',
  delivery_limit:
    'The fault is ours: an operator mends it and puts the message back into the queue. Do not publish it again.',
};

/**
 * The ERP published a command that is never carried out. What is told of it is in the event: its body is with the dead
 * letters.
 */
export function commandRefused(event: RecordedEvent): OutcomePayload {
  const { deadLetterId, messageId, commandId, reference, code, text, place, silentUntil } =
    typedEvent<CommandRefused>(event).data;
  const why = code === 'delivery_limit' ? 'our own code failed on it each time that it was delivered' : text;
  const silence =
    silentUntil === undefined
      ? ''
      : ` Too many were refused: others are not told before ${silentUntil}, and lie among the dead letters.`;
  return {
    type: 'pedigree.command.refused.v1',
    topic: 'command.refused',
    subject: deadLetterId,
    data: {
      ...defined({ command_id: commandId, reference, message_id: messageId }),
      code,
      sentence: `Refused: ${why}${/[.!?]$/.test(why) ? '' : '.'}${silence}`,
      remedy: REMEDIES[code] ?? AGAIN,
      ...defined({ place }),
      dead_letter_id: deadLetterId,
      ...defined({ silent_until: silentUntil }),
      known_at: String(event.position),
      href: `/v1/operations/dead-letters/${encodeURIComponent(deadLetterId)}`,
    },
  };
}
