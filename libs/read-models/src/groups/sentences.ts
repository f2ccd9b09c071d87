import { isEndedByPerson, type HaltCause } from '#domain';
import { neverReached } from '#kernel';
import { heldWords, metIn, type PlainWords } from '../document-outcomes/sentences.js';
import { because } from '../wording.js';
import type { GroupRow } from './row.js';

/** What the words are made of. */
export type DescribedGroup = Pick<
  GroupRow,
  | 'groupId'
  | 'kind'
  | 'phase'
  | 'waitingFor'
  | 'heldFor'
  | 'memberCount'
  | 'sentCount'
  | 'endedCount'
  | 'outcome'
  | 'halt'
  | 'stoppedBy'
  | 'problem'
  | 'resumedBy'
>;

const MOST_NAMED = 5;

/** A plain sentence and a remedy for a group as it stands. */
export function wordsForGroup(group: DescribedGroup): PlainWords {
  const { phase, memberCount, sentCount, endedCount } = group;
  switch (phase) {
    case 'waiting':
      return {
        sentence:
          `Waits until ${named(group.waitingFor.map((one) => `${one.commandId}${metIn(one)}`))} ` +
          `${group.waitingFor.length === 1 ? 'has' : 'have'} concluded.`,
      };
    case 'held':
      return heldWords(group.heldFor, 'group');
    case 'sending':
      return {
        sentence: `Its documents are sent one after the other: ${sentCount} of ${memberCount} are with the registry.`,
      };
    case 'checking':
      return {
        sentence:
          `All ${memberCount} documents are with the registry, and it is asked whether it can ` +
          `begin${because(group.problem)}.`,
      };
    case 'starting':
      return { sentence: 'The registry is asked to begin.' };
    case 'unconfirmed':
      return {
        sentence:
          `Nobody knows yet whether the registry has begun${because(group.problem)}; the status of its documents ` +
          'tells.',
        remedy: `Where it stays so, ask the registry. pedigree end ${group.groupId} --reason TEXT ends it.`,
      };
    case 'started':
      return { sentence: `The registry processes it in order: ${endedCount} of ${memberCount} documents have ended.` };
    case 'halted':
      return halted(group);
    case 'concluded':
      return concluded(group);
    default:
      return neverReached(phase, 'group phase');
  }
}

function halted(group: DescribedGroup): PlainWords {
  if (group.halt === 'ended_by_person')
    return {
      sentence: `${stopped(group)}. Its documents end once the registry shows that it has not begun.`,
      remedy:
        'Where the registry shows them as in work, ask it. If it never processes them: ' +
        `pedigree end ${group.groupId} --in-work --reason TEXT.`,
    };
  if (group.halt === 'ended_in_work')
    return { sentence: `${stopped(group)}. Its documents end in a moment, if the registry shows no end of its own.` };
  return { sentence: `${stopped(group)}; the documents after it are not processed and end once that is sure.` };
}

function concluded(group: DescribedGroup): PlainWords {
  const { halt, outcome, memberCount, groupId, kind, resumedBy } = group;
  const whole =
    kind === 'split' ? `The document was sent in ${memberCount} parts` : `The group has ${memberCount} documents`;
  // Where it had halted, what stopped it turned out well in the end.
  if (outcome === 'accepted') {
    const sentence = `${whole}; all were accepted.`;
    return resumedBy === null ? { sentence } : { sentence, remedy: countsTwice(resumedBy) };
  }
  if (halt === null) return { sentence: `${whole}; all were processed, some of them taken for some items only.` };
  const sentence = `${whole}. ${stopped(group)}; ${whatOfRest(halt, outcome)}.`;
  if (resumedBy !== null) return { sentence, remedy: `It was resumed: group ${resumedBy} carries on.` };
  // A receipt says that it has begun after all.
  const isBegun = halt === 'ended_by_person' && outcome !== 'failed';
  return { sentence, remedy: remedyFor(isBegun ? 'ended_in_work' : halt, groupId) };
}

function whatOfRest(halt: HaltCause, outcome: DescribedGroup['outcome']): string {
  if (!isEndedByPerson(halt)) return 'the documents after it were not processed';
  return `its ${outcome === 'partial' ? 'other ' : ''}documents count as not processed`;
}

function remedyFor(halt: HaltCause, groupId: string): string {
  switch (halt) {
    case 'predecessor_failed':
      return (
        'Nothing has moved. Correct and send the earlier document, then resume this group: pedigree resume ' +
        `${groupId} --reason TEXT.`
      );
    case 'waits_in_ring':
      return `Nothing has moved. When those have ended: pedigree resume ${groupId} --reason TEXT.`;
    case 'check_denied':
    case 'start_refused':
      return `Nothing has moved. When what the registry names is mended: pedigree resume ${groupId} --reason TEXT.`;
    case 'packs_suspended':
      return (
        'Look first whether the registry has processed any of its documents after all, where an earlier start is ' +
        `named. pedigree resume ${groupId} --reason TEXT sends the others again: what is still suspended is held ` +
        'then, until the suspension ends or a person releases it.'
      );
    case 'ended_by_person':
      return `The registry showed that nothing has begun. To send it again: pedigree resume ${groupId} --reason TEXT.`;
    case 'ended_in_work':
      return (
        'What the registry processes after all is told as revised. The group is not resumed. Give what is to be sent ' +
        'again as a new command, once the registry says that it is over.'
      );
    case 'member_rejected':
    case 'member_failed':
    case 'member_partial':
    case 'member_not_sent':
      return (
        'Correct the document that stopped it, and resume: ' +
        `pedigree resume ${groupId} --corrected FILE --reason TEXT.`
      );
    default:
      return neverReached(halt, 'halt cause');
  }
}

const countsTwice = (resumedBy: string): string =>
  `It was resumed before that: group ${resumedBy} carries on, and both count. Look whether an operation is there ` +
  'twice, and undo one of the two.';

function stopped({ halt, stoppedBy, problem }: DescribedGroup): string {
  switch (halt) {
    case 'member_rejected':
    case 'member_failed':
    case 'member_partial':
      return `The registry stopped at ${stoppedBy}`;
    case 'member_not_sent':
      return `It was not started, because the registry did not take ${stoppedBy}`;
    case 'predecessor_failed':
      return `It was not sent, because it was to come after ${stoppedBy ?? problem}`;
    case 'waits_in_ring':
      return `It was not sent${because(problem)}`;
    case 'check_denied':
    case 'start_refused':
      return `The registry would not begin${because(problem)}`;
    case 'packs_suspended':
      return `It was not started${because(problem)}`;
    case 'ended_by_person':
    case 'ended_in_work':
      return `A person ended it, as nobody knew whether the registry has begun${because(problem)}`;
    case null:
      throw new Error('a stopped group without a cause');
    default:
      return neverReached(halt, 'halt cause');
  }
}

const named = (names: string[]): string =>
  names.slice(0, MOST_NAMED).join(', ') + (names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '');
