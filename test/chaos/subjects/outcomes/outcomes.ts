import { uuid5 } from '#kernel';
import { complaints, type Ended, type Meanwhile, type OutcomeMessage, type Subject } from '../subject.js';

/**
 * The ERP heard of each thing that is to be told at least once, under its one id, the events of a document in their
 * order, and of nothing that is not in the log.
 */
export const outcomes: Subject = { name: 'outcomes', unrest, check };

/**
 * What the ERP must hear of, as the documentation says; more is no fault, as long as an event of the log is behind
 * it.
 */
const MUST_BE_TOLD = [
  'DocumentWaiting',
  'DocumentHeld',
  'DocumentConcluded',
  'ConclusionRevised',
  'DuplicateDetected',
  'CommandRefused',
];

/** What was not heard yet, by one way or another. */
async function unrest({ log, heard }: Meanwhile): Promise<number> {
  const wanted = (await log.events()).filter(({ type }) => MUST_BE_TOLD.includes(type)).length;
  const told = Object.values(heard).map((messages) => new Set(messages.map((one) => one.id)).size);
  return told.reduce((sum, count) => sum + Math.max(0, wanted - count), 0);
}

async function check({ log, heard, installation }: Ended): Promise<string[]> {
  // As it is documented: UUIDv5 of the event's id in the installation's namespace.
  const all = new Map((await log.events()).map((event) => [uuid5(`outcome/${event.id}`, installation), event]));
  const wanted = [...all].filter(([, event]) => MUST_BE_TOLD.includes(event.type));
  const found: string[] = [];
  for (const [way, messages] of Object.entries(heard)) {
    const ids = new Set(messages.map((one) => one.id));
    found.push(
      ...complaints(wanted, ([id, event]) =>
        ids.has(id) ? undefined : `${way}: ${event.type} of ${event.stream} (${id}) was never told`,
      ),
      ...complaints(ids, (id) => (all.has(id) ? undefined : `${way}: ${id} was told, and nothing in the log says so`)),
      ...complaints(messages, (one) =>
        one.repeated === undefined || one.repeated.equals(one.body)
          ? undefined
          : `${way}: ${one.id} was told twice with different content`,
      ),
      ...complaints(
        firstTold(messages),
        ({ earlier, later }) =>
          `${way}: of ${later.subject}, ${later.sequence} was told for the first time before ${earlier.sequence}`,
      ),
    );
  }
  return found;
}

/** Pairs of one document whose first tellings came in the wrong order. */
function firstTold(messages: OutcomeMessage[]): { earlier: OutcomeMessage; later: OutcomeMessage }[] {
  const newest = new Map<string, OutcomeMessage>();
  const seen = new Set<string>();
  const wrong = [];
  for (const one of messages) {
    if (seen.has(one.id)) continue;
    seen.add(one.id);
    const before = newest.get(one.subject);
    if (before !== undefined && before.sequence > one.sequence) wrong.push({ earlier: one, later: before });
    else newest.set(one.subject, one);
  }
  return wrong;
}
