import { describe, expect, it } from '@jest/globals';
import { problemOfContent, readToldContent, writeToldContent, type ToldItem } from './content.js';
import { decideContainer, type ContainerCommand } from './decide.js';
import { containerStream, type Arrival, type ContainerEvent } from './events.js';
import { reactToContainerEvent } from './saga.js';
import { evolveContainer, NEVER_ASKED, type ContainerState } from './state.js';

const SSCC = '146070000000000101';
const BOX = '146070000000000118';
const PACK = '04600000000015CONTENT000000';
const SHA = 'c'.repeat(64);
const arrival: Arrival = { documentId: 'd-601', docType: 601, subjectId: '00000000200101' };
const ask: ContainerCommand = { type: 'AskContent', sscc: SSCC, account: 'main', arrival };
const said = { sscc: SSCC, documentId: 'd-601', reason: 'access_denied', attempts: 1, answerSha256: SHA } as const;
const deny: ContainerCommand = { type: 'NoteWithheld', ...said };
const giveUp: ContainerCommand = { type: 'GiveUpContent', ...said, attempts: 12 };
const told = { operation: 'sscc_full_hierarchy', fetchedAt: '2026-03-01T10:00:00.000Z', answerSha256: SHA };
const record: ContainerCommand = {
  ...{ type: 'RecordContent', sscc: SSCC, documentId: 'd-601', contentSha256: SHA, packs: 1, containers: 0 },
  ...told,
};

/** What these commands, one after another, make happen. */
function given(...commands: ContainerCommand[]): { state: ContainerState; types: string[] } {
  let state = NEVER_ASKED;
  const types: string[] = [];
  for (const command of commands) {
    const events = decideContainer(state, command);
    types.push(...events.map(({ type }) => type));
    state = events.reduce(evolveContainer, state);
  }
  return { state, types };
}

describe('the content of a container', () => {
  it('is asked for once for an arrival, and told once', () => {
    const { state, types } = given(ask, ask, record, record, ask);
    expect(types).toEqual(['ContainerContentAsked', 'ContainerContentObserved']);
    expect(state).toEqual({ phase: 'told', documentId: 'd-601' });
  });

  it('is said to be withheld when the reason is new, and told all the same', () => {
    const absent = { ...deny, reason: 'not_found' } as ContainerCommand;
    expect(given(ask, deny, deny, absent, record).types).toEqual([
      'ContainerContentAsked',
      'ContainerContentWithheld',
      'ContainerContentWithheld',
      'ContainerContentObserved',
    ]);
  });

  it('stays unknown when it is given up, until it arrives again', () => {
    const again = { ...ask, arrival: { ...arrival, documentId: 'd-later' } } as ContainerCommand;
    const { types, state } = given(ask, deny, giveUp, record, ask, again, record);
    expect(types).toEqual([
      ...['ContainerContentAsked', 'ContainerContentWithheld', 'ContainerContentUnavailable'],
      'ContainerContentAsked',
    ]);
    expect(state).toMatchObject({ phase: 'asked', arrival: { documentId: 'd-later' } });
  });

  it('is asked for by one question at a time', () => {
    const other = { ...ask, arrival: { ...arrival, documentId: 'd-other' } } as ContainerCommand;
    expect(given(ask, other).types).toEqual(['ContainerContentAsked']);
  });

  it('takes no answer that nobody asked for, and no stream that is damaged', () => {
    expect(given(record, deny, giveUp).types).toEqual([]);
    const observed: ContainerEvent = { type: 'ContainerContentWithheld', data: said };
    expect(() => evolveContainer(NEVER_ASKED, observed)).toThrow('in phase never_asked');
  });
});

describe('the saga of containers', () => {
  it('plans one call of low priority in the lane of account and method', () => {
    const handledAt = new Date('2026-03-01T10:00:00Z');
    const asked = { stream: containerStream(SSCC), type: 'ContainerContentAsked', handledAt };
    const data = { sscc: SSCC, account: 'main', arrival };
    expect(reactToContainerEvent({}, { ...asked, data }).tasks).toEqual([
      {
        ...{ key: `container_content:${SSCC}:d-601`, kind: 'container_content', lane: 'main/sscc_full_hierarchy' },
        ...{ priority: 800, dueAt: handledAt, payload: { sscc: SSCC, account: 'main', documentId: 'd-601' } },
      },
    ]);
    const withheld = { ...asked, type: 'ContainerContentWithheld', data: said };
    expect(reactToContainerEvent({}, withheld).tasks).toEqual([]);
    expect(() => reactToContainerEvent({}, { ...withheld, type: 'ContainerContentLost' })).toThrow();
  });
});

describe('a told content', () => {
  const items: ToldItem[] = [
    { id: BOX, into: SSCC },
    { id: PACK, into: BOX, series: 'S-1', expiresOn: '2028-12-31' },
  ];

  it('is read as it was written, and nothing else is', () => {
    expect(readToldContent(writeToldContent({ sscc: SSCC, items }))).toEqual({ sscc: SSCC, items });
    expect(() => readToldContent(Buffer.from('{"up":[],"down":[]}'))).toThrow();
  });

  it.each<[string, ToldItem[], string | undefined]>([
    ['nothing', [], undefined],
    ['a container within', items, undefined],
    ['an item twice', [...items, { id: PACK, into: SSCC }], 'not_understood'],
    ['itself', [{ id: SSCC, into: SSCC }], 'not_understood'],
    ['an item in a container that is not there', [{ id: PACK, into: BOX }], 'not_understood'],
    ['what is no identifier', [{ id: 'x', into: SSCC }], 'not_understood'],
    ['more levels than are taken', nestedBoxes(21), 'too_large'],
    ['more items than are taken', Array.from({ length: 25_001 }, () => ({ id: PACK, into: SSCC })), 'too_large'],
  ])('that holds %s', (_what, told, reason) => {
    expect(problemOfContent({ sscc: SSCC, items: told })?.reason).toBe(reason);
  });
});

function nestedBoxes(levels: number): ToldItem[] {
  const name = (level: number): string => (level === 0 ? SSCC : String(level).padStart(18, '9'));
  return Array.from({ length: levels }, (_, level) => ({ id: name(level + 1), into: name(level) }));
}
