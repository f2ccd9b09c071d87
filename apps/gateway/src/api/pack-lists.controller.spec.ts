import { expect, it } from '@jest/globals';
import type { FastifyReply } from 'fastify';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import type { PackListQuery, ReadModels } from '#read-models';
import type { CallerRequest } from '../access/access.guard.js';
import { PackListsController } from './pack-lists.controller.js';

it.each([
  ['application/json', {}, [100]],
  ['application/json', { limit: '7' }, [7]],
  ['application/x-ndjson', {}, [1_000, 1_000]],
  ['text/csv', { limit: '7' }, [1_000, 1_000]],
])('as %s with %j, packs are read in steps of %j', async (accept, query, steps) => {
  const asked: (number | undefined)[] = [];
  const list = ({ limit, cursor }: PackListQuery) => {
    asked.push(limit);
    return Promise.resolve({ items: [], ...(cursor === undefined ? { nextCursor: 'next' } : {}) });
  };
  const controller = new PackListsController(
    { packs: { list } } as unknown as ReadModels,
    { error: () => undefined } as never,
  );
  const request = { headers: { accept }, url: '/v1/packs', query, stillAllowed: () => Promise.resolve() };
  let sent: unknown;
  const reply = { header: () => reply, send: (answer: unknown) => (sent = answer) };
  await controller.list(query, request as unknown as CallerRequest, reply as unknown as FastifyReply);
  if (steps.length > 1) await text(sent as Readable);
  expect(asked).toEqual(steps);
});
