import { expect, it } from '@jest/globals';
import type { FastifyReply } from 'fastify';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { CallerRequest } from '../access/access.guard.js';
import { FILE_TYPES } from './file-types.js';
import { TimelinessController } from './timeliness.controller.js';

const PIN = { asOf: '2026-03-05T10:00:00.000Z', upTo: '9' };

/** What the controller sends of a report that has not a single document; `next` on its first page. */
async function sent(query: Record<string, string>, accept: string, report: object): Promise<unknown> {
  const queries = { execute: () => Promise.resolve({ ...PIN, items: [], ...report }) };
  const answers: unknown[] = [];
  const reply = { header: () => reply, send: (answer: unknown) => void answers.push(answer) };
  const stillAllowed = () => Promise.resolve();
  const request = { headers: { accept }, query, url: '/v1/reports/timeliness', stillAllowed };
  const controller = new TimelinessController(queries as never, { error: () => undefined } as never);
  await controller.list(query, request as unknown as CallerRequest, reply as unknown as FastifyReply);
  return answers[0];
}
const rowsOf = async (query: Record<string, string>, report: object): Promise<object[]> =>
  (await text((await sent(query, FILE_TYPES.ndjson, report)) as Readable))
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as object]));

it('says in a file of what is late that no calendar is set: without a row it would say that nothing is', async () => {
  const why = { state: 'not_known', why: 'no_calendar', as_of: PIN.asOf, up_to: PIN.upTo };
  expect(await rowsOf({ late: 'true' }, {})).toEqual([why]);
  const csv = await text((await sent({ late: 'true' }, FILE_TYPES.csv, {})) as Readable);
  expect(csv.split('\r\n')[1]).toContain('not_known,no_calendar');
  // Nothing can be late on the pages after it either.
  expect(await rowsOf({ late: 'true' }, { nextCursor: 'next' })).toEqual([why]);
  expect(await rowsOf({ late: 'true' }, { calendar: { name: 'Hours', edition: '7' } })).toEqual([]);
  expect(await rowsOf({}, {})).toEqual([]);
  expect(await sent({ late: 'true' }, 'application/json', {})).toMatchObject({ items: [] });
});
