import { describe, expect, it } from '@jest/globals';
import { sentenceOfGroupEvent } from './event-sentences.js';
import { wordsForGroup, type DescribedGroup } from './sentences.js';

const GROUP: DescribedGroup = {
  groupId: 'g',
  kind: 'given',
  phase: 'concluded',
  waitingFor: [],
  heldFor: [],
  memberCount: 3,
  sentCount: 3,
  endedCount: 1,
  outcome: null,
  halt: null,
  stoppedBy: null,
  problem: null,
  resumedBy: null,
};
const waitingFor = (many: number) =>
  Array.from({ length: many }, (_, n) => ({ commandId: `c-${n}`, requestId: `r-${n}` }));

describe('the words for a group', () => {
  it.each<[string, Partial<DescribedGroup>, string]>([
    ['waiting for one', { phase: 'waiting', waitingFor: waitingFor(1) }, 'Waits until c-0 has concluded.'],
    [
      'waiting for many',
      { phase: 'waiting', waitingFor: waitingFor(7) },
      'Waits until c-0, c-1, c-2, c-3, c-4 and 2 more have concluded.',
    ],
    [
      'being sent',
      { phase: 'sending', sentCount: 1 },
      'Its documents are sent one after the other: 1 of 3 are with the registry.',
    ],
    [
      'being checked',
      { phase: 'checking', problem: ' closed\ntoday. ' },
      'All 3 documents are with the registry, and it is asked whether it can begin: closed today.',
    ],
    ['being started', { phase: 'starting' }, 'The registry is asked to begin.'],
    ['started', { phase: 'started' }, 'The registry processes it in order: 1 of 3 documents have ended.'],
    [
      'halted',
      { phase: 'halted', halt: 'member_rejected', stoppedBy: 'c-1 rejected' },
      'The registry stopped at c-1 rejected; the documents after it are not processed and end once that is sure.',
    ],
    [
      'not begun',
      { phase: 'halted', halt: 'check_denied', problem: 'closed' },
      'The registry would not begin: closed; the documents after it are not processed and end once that is sure.',
    ],
    [
      'not begun by us',
      { phase: 'halted', halt: 'packs_suspended', problem: 'packs of c-1 are suspended' },
      'It was not started: packs of c-1 are suspended; the documents after it are not processed and end once that is ' +
        'sure.',
    ],
    ['accepted', { outcome: 'accepted' }, 'The group has 3 documents; all were accepted.'],
    [
      'accepted, though it had halted at its last document',
      { outcome: 'accepted', halt: 'member_failed', stoppedBy: 'c-3 failed' },
      'The group has 3 documents; all were accepted.',
    ],
    [
      'accepted in part, without a halt',
      { outcome: 'partial' },
      'The group has 3 documents; all were processed, some of them taken for some items only.',
    ],
    [
      'one document in parts',
      { kind: 'split', outcome: 'accepted' },
      'The document was sent in 3 parts; all were accepted.',
    ],
  ])('%s', (_name, of, sentence) => {
    expect(wordsForGroup({ ...GROUP, ...of })).toEqual({ sentence });
  });

  it.each<[string, Partial<DescribedGroup>, string, string | undefined]>([
    [
      'started or not',
      { phase: 'unconfirmed', problem: 'timeout' },
      'Nobody knows yet whether the registry has begun: timeout; the status of its documents tells.',
      'Where it stays so, ask the registry. pedigree end g --reason TEXT ends it.',
    ],
    [
      'ended by a person',
      { phase: 'halted', halt: 'ended_by_person', problem: 'lost' },
      'A person ended it, as nobody knew whether the registry has begun: lost. Its documents end once the registry ' +
        'shows that it has not begun.',
      'Where the registry shows them as in work, ask it. If it never processes them: pedigree end g --in-work ' +
        '--reason TEXT.',
    ],
    [
      'ended with what is in work',
      { phase: 'halted', halt: 'ended_in_work', problem: 'lost' },
      'A person ended it, as nobody knew whether the registry has begun: lost. Its documents end in a moment, if the ' +
        'registry shows no end of its own.',
      undefined,
    ],
    [
      'over since a person ended it',
      { outcome: 'failed', halt: 'ended_by_person', problem: 'lost' },
      'The group has 3 documents. A person ended it, as nobody knew whether the registry has begun: lost; its ' +
        'documents count as not processed.',
      'The registry showed that nothing has begun. To send it again: pedigree resume g --reason TEXT.',
    ],
    [
      'over since a person ended it with what is in work',
      { outcome: 'failed', halt: 'ended_in_work', problem: 'lost' },
      'The group has 3 documents. A person ended it, as nobody knew whether the registry has begun: lost; its ' +
        'documents count as not processed.',
      'What the registry processes after all is told as revised. The group is not resumed. Give what is to be sent ' +
        'again as a new command, once the registry says that it is over.',
    ],
    [
      'ended so, and processed in part after all',
      { outcome: 'partial', halt: 'ended_by_person', problem: 'lost' },
      'The group has 3 documents. A person ended it, as nobody knew whether the registry has begun: lost; its ' +
        'other documents count as not processed.',
      'What the registry processes after all is told as revised. The group is not resumed. Give what is to be sent ' +
        'again as a new command, once the registry says that it is over.',
    ],
  ])('say what a person does about it: %s', (_name, of, sentence, remedy) => {
    expect(wordsForGroup({ ...GROUP, ...of })).toEqual({ sentence, ...(remedy === undefined ? {} : { remedy }) });
  });

  it.each<[string, Partial<DescribedGroup>, string, string]>([
    [
      'a member was rejected',
      { halt: 'member_rejected', stoppedBy: 'c-1 rejected' },
      'The registry stopped at c-1 rejected;',
      'Correct the document that stopped it, and resume: pedigree resume g --corrected FILE --reason TEXT.',
    ],
    [
      'a member was not taken',
      { halt: 'member_not_sent', stoppedBy: 'c-1 failed' },
      'It was not started, because the registry did not take c-1 failed;',
      'Correct the document that stopped it, and resume: pedigree resume g --corrected FILE --reason TEXT.',
    ],
    [
      'an earlier document failed',
      { halt: 'predecessor_failed', stoppedBy: 'c-9 failed' },
      'It was not sent, because it was to come after c-9 failed;',
      'Nothing has moved. Correct and send the earlier document, then resume this group: pedigree resume g ' +
        '--reason TEXT.',
    ],
    [
      'the registry would not begin',
      { halt: 'start_refused', problem: 'closed' },
      'The registry would not begin: closed;',
      'Nothing has moved. When what the registry names is mended: pedigree resume g --reason TEXT.',
    ],
    [
      'packs of it were suspended',
      { halt: 'packs_suspended', problem: 'packs of c-1 are suspended' },
      'It was not started: packs of c-1 are suspended;',
      'Look first whether the registry has processed any of its documents after all, where an earlier start is ' +
        'named. pedigree resume g --reason TEXT sends the others again: what is still suspended is held then, until ' +
        'the suspension ends or a person releases it.',
    ],
    [
      'it was resumed since',
      { halt: 'member_failed', stoppedBy: 'c-1 failed', resumedBy: 'h' },
      'The registry stopped at c-1 failed;',
      'It was resumed: group h carries on.',
    ],
  ])('that halted say what to do: %s', (_name, of, why, remedy) => {
    expect(wordsForGroup({ ...GROUP, outcome: 'partial', ...of })).toEqual({
      sentence: `The group has 3 documents. ${why} the documents after it were not processed.`,
      remedy,
    });
  });
});

describe('the words for a group that was resumed, and accepted after all', () => {
  it.each<[string, Partial<DescribedGroup>, string]>([
    ['a group', {}, 'The group has 3 documents; all were accepted.'],
    ['a document in parts', { kind: 'split' }, 'The document was sent in 3 parts; all were accepted.'],
  ])('name the resumption, and say that both count: %s', (_name, of, sentence) => {
    const resumed = { outcome: 'accepted', halt: 'member_failed', stoppedBy: 'c-3 failed', resumedBy: 'h' } as const;
    expect(wordsForGroup({ ...GROUP, ...resumed, ...of })).toEqual({
      sentence,
      remedy:
        'It was resumed before that: group h carries on, and both count. Look whether an operation is there twice, ' +
        'and undo one of the two.',
    });
  });
});

describe('the sentence of an event of a group', () => {
  it('names what stopped it and how many come after it', () => {
    const member = { commandId: 'c-1', requestId: 'r-1', index: 1, outcome: 'rejected' };
    expect(
      sentenceOfGroupEvent({
        type: 'GroupHalted',
        data: { cause: 'member_rejected', started: true, member, rest: ['r-2'] },
      }),
    ).toBe('Stopped: c-1 ended rejected. 1 document will not be processed.');
    expect(
      sentenceOfGroupEvent({
        type: 'GroupHalted',
        data: { cause: 'check_denied', started: false, text: 'closed.', rest: [] },
      }),
    ).toBe('Stopped: closed. No document comes after it.');
  });

  it('names the reason of a person who ended it, and which documents end', () => {
    const ended = (cause: string) =>
      sentenceOfGroupEvent({
        type: 'GroupHalted',
        data: { cause, started: false, text: 'it is lost.', attempt: 1, rest: ['r-1', 'r-2'] },
      });
    expect(ended('ended_by_person')).toBe(
      'A person ended it: it is lost. 2 documents will end, once the registry shows that the group has not begun.',
    );
    expect(ended('ended_in_work')).toBe(
      'A person ended it: it is lost. 2 documents will end, also what the registry shows as in work.',
    );
  });

  it('is refused for an event that this program does not know', () => {
    expect(() => sentenceOfGroupEvent({ type: 'GroupPainted', data: {} })).toThrow('unknown group event: GroupPainted');
    expect(() => sentenceOfGroupEvent({ type: 'toString', data: {} })).toThrow('unknown group event: toString');
  });
});
