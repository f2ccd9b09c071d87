import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { documentStream } from '#domain';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { sha256Hex } from '#kernel';
import { testDatabase, type TestDatabase } from '../../../support/database.js';
import type { CampaignLog } from '../../campaign-log.js';
import { overtakings } from './overtakings.js';

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../../libs/documents/fixtures/${name}.xml`, import.meta.url)).toString();
const MOVE = fixture('431-move_place');
const WHOLE_PLACE = MOVE.replace(/<order_details>[^]*<\/order_details>/, '')
  .replace('<move_place action_id="431">', '<move_place_all action_id="432">')
  .replace('</move_place>', '</move_place_all>');
const recallOf = (operation: string): string => fixture('250-recall').replace(/(?<=<operation_id>)[^<]*/, operation);

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([evidenceSchema]);
  const evidence = new PostgresEvidenceStore({ pool: db.pool });
  for (const xml of [MOVE, WHOLE_PLACE, recallOf('a'), recallOf('at the registry')])
    await evidence.put(Buffer.from(xml), 'application/xml');
});
afterAll(() => db.drop());

const SENDING = ['DocumentRegistered', 'SendAttempted', 'DocumentSent'];

/** Two documents, of which the second is sent while the first is under way, or whatever else happens to that. */
const found = (a: string, b: string, ofFirst = SENDING): Promise<string[]> => {
  const about = (id: string, xml: string, from: bigint) =>
    (id === 'a' ? ofFirst : SENDING).map((type, n) => ({
      ...{ stream: documentStream(id), type, position: from + BigInt(n) },
      data: {
        ...{ requestId: id, commandId: id, docType: 0, after: [], documentSha256: sha256Hex(Buffer.from(xml)) },
        documentId: id === 'a' ? 'at the registry' : 'another',
      },
    }));
  const events = [...about('a', a, 1n), ...about('b', b, 4n)];
  return overtakings({ pool: db.pool, log: { events: () => Promise.resolve(events) } as unknown as CampaignLog });
};

it.each([
  ['a place of which all is on its way', WHOLE_PLACE, MOVE],
  ['a place from which one of its packs is on its way', MOVE, WHOLE_PLACE],
  ['the packs of an operation, by a recall that names it', MOVE, recallOf('a')],
  ['the packs of an operation, by a recall that names the registry’s id of it', MOVE, recallOf('at the registry')],
])('finds what overtakes another in %s', async (_what, a, b) => {
  expect(await found(a, b)).toEqual([
    expect.stringMatching(/^b was sent at 5, before a, which concerns \w+ too, ended at no time$/),
  ]);
});

it('finds nothing where two documents have a place alone in common', async () => {
  expect(await found(MOVE, recallOf('unknown'))).toEqual([]);
});

it('finds nothing where a document goes ahead in a place alone of one that is held, or was; only of its packs', async () => {
  const held = ['DocumentRegistered', 'DocumentHeld', 'DocumentReleased'];
  expect(await found(MOVE, WHOLE_PLACE, held)).toEqual([]);
  expect(await found(WHOLE_PLACE, MOVE, held)).toEqual([]);
  expect(await found(MOVE, MOVE, held)).toEqual([expect.stringMatching(/^b was sent at 5, before a/)]);
});
