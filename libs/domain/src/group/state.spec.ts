import { expect, it } from '@jest/globals';
import {
  allSent,
  answered,
  begin,
  ended,
  endedBy,
  groupAfter,
  IDS,
  mayStart,
  started,
} from '../../test/given-group.js';
import type { GroupCommand } from './decide.js';
import { endedAnyway } from './state.js';

const failed = (i: number) => ended(i, 'failed', { cause: 'registry_failed' });
const notProcessed = (i: number) => ended(i, 'failed', { cause: 'not_processed' });
const byPerson = [...allSent, mayStart, begin, answered('unconfirmed'), endedBy(1)];

it.each<[string, GroupCommand[], number[]]>([
  [
    'behind one that has turned',
    [...started, failed(0), notProcessed(1), notProcessed(2), ended(0, 'accepted')],
    [1, 2],
  ],
  [
    'behind one that has turned, but for what failed itself',
    [...started, failed(0), failed(1), notProcessed(2), ended(0, 'partial')],
    [2],
  ],
  ['not while a member is open', [...started, failed(0), notProcessed(1), ended(0, 'accepted')], []],
  ['not behind one that stayed as it was', [...started, failed(0), notProcessed(1), notProcessed(2)], []],
  [
    'not behind one that turned out rejected',
    [...started, failed(0), notProcessed(1), notProcessed(2), ended(0, 'rejected')],
    [],
  ],
  [
    'not behind one that stopped it as partial',
    [...started, ended(0, 'partial'), notProcessed(1), notProcessed(2)],
    [],
  ],
  [
    'behind one of these that is accepted',
    [...started, ended(0, 'partial'), notProcessed(1), notProcessed(2), ended(0, 'accepted')],
    [1, 2],
  ],
  ['where a person ended the group', [...byPerson, notProcessed(0), ended(1, 'accepted'), notProcessed(2)], [0, 2]],
])('what was ended may be processed all the same: %s', (_, commands, indexes) => {
  expect(endedAnyway(groupAfter(commands)).map((one) => one.requestId)).toEqual(indexes.map((i) => IDS[i]));
});
