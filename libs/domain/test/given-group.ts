import { registration as documentRegistration, SHA } from './given-document.js';
import { decideGroup, type GroupCommand } from '../src/group/decide.js';
import type { GroupEvent } from '../src/group/events.js';
import { evolveGroup, NO_GROUP, type GroupRegistration, type GroupState } from '../src/group/state.js';
import type { DocumentReference } from '../src/document/events.js';

/** Words for the specs of a group of three: given these events, when this command, then those events. */
export const IDS = ['m-0', 'm-1', 'm-2'];

export const groupRegistration = (after: DocumentReference[] = []): GroupRegistration => ({
  groupId: 'g-1',
  commandId: 'G-1',
  account: 'main',
  kind: 'given',
  members: IDS.map((requestId, index) => ({
    ...documentRegistration(),
    requestId,
    commandId: `c-${requestId}`,
    group: { groupId: 'g-1', index, of: IDS.length, kind: 'given' },
  })),
  after,
});

export const registered: GroupCommand = { type: 'Register', registration: groupRegistration() };
export const memberSent = (i: number): GroupCommand => ({
  type: 'NoteMemberSent',
  requestId: IDS[i] as string,
  documentId: `d-${i}`,
});
export const allSent: GroupCommand[] = [registered, memberSent(0), memberSent(1), memberSent(2)];
export const mayStart: GroupCommand = { type: 'RecordCheck', answer: { canStart: true }, answerSha256: SHA };
export const mayNot: GroupCommand = {
  type: 'RecordCheck',
  answer: { canStart: false, reason: 'not yet' },
  answerSha256: SHA,
};
export const begin: GroupCommand = { type: 'BeginStart' };
export const answered = (kind: 'started' | 'refused' | 'not_delivered' | 'unconfirmed', attempt = 1): GroupCommand => {
  const answer = {
    started: { answerSha256: SHA },
    refused: { code: '7', text: 'no', answerSha256: SHA },
    not_delivered: { reason: '429', retryAfterMs: 400 },
    unconfirmed: { reason: 'timeout' },
  }[kind];
  return {
    type: 'RecordStartAnswer',
    attempt,
    answer: { kind, ...answer } as Extract<GroupCommand, { type: 'RecordStartAnswer' }>['answer'],
  };
};
export const looked = (begun: boolean, sinceAttemptEndedMs: number, attempt = 1): GroupCommand => ({
  type: 'RecordLook',
  attempt,
  begun,
  sinceAttemptEndedMs,
  unknownGraceMs: 60_000,
  answerSha256: SHA,
});
export const started: GroupCommand[] = [...allSent, mayStart, begin, answered('started')];
/** A person ends the group, after the start of this number or, without one, after it has halted. */
export const endedBy = (attempt?: number, inWork?: true): GroupCommand => ({
  type: 'EndByPerson',
  reason: 'the registry lost it',
  ...(attempt === undefined ? {} : { attempt }),
  ...(inWork === undefined ? {} : { inWork }),
});
/** After that a member shows that the registry has begun. */
export const begun: GroupCommand = { type: 'RecordBegun', answerSha256: SHA };
type Ended = Extract<GroupCommand, { type: 'NoteMemberConcluded' }>;
export const ended = (
  i: number,
  outcome: Ended['outcome'],
  more: Partial<Pick<Ended, 'cause' | 'partialStops' | 'version'>> = {},
): GroupCommand => ({ type: 'NoteMemberConcluded', requestId: IDS[i] as string, outcome, partialStops: true, ...more });

export const groupAfter = (commands: GroupCommand[]): GroupState =>
  commands.reduce<GroupState>((state, one) => decideGroup(state, one).reduce(evolveGroup, state), NO_GROUP);
/** The events of the last of these commands. */
export const then = (commands: GroupCommand[]): GroupEvent[] =>
  decideGroup(groupAfter(commands.slice(0, -1)), commands.at(-1) as GroupCommand);
/** The events of all of these commands. */
export const eventsOf = (commands: GroupCommand[]): GroupEvent[] => {
  let state: GroupState = NO_GROUP;
  return commands.flatMap((one) => {
    const events = decideGroup(state, one);
    state = events.reduce(evolveGroup, state);
    return events;
  });
};
export const typesOf = (events: GroupEvent[]): string[] => events.map((event) => event.type);
