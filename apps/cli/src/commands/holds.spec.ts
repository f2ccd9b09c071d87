import { expect, it } from '@jest/globals';
import { PedigreeError } from '#kernel';
import type { GatewayClient } from '../gateway-client.js';
import { printedInEachTest } from '../../test/printed.js';
import { decideHold } from './holds.js';

const printed = printedInEachTest();
const GROUP = '5d1c0a8e-3b7c-4a52-9a8e-0c6f7b1d2e3f';

/** A gateway that knows one group, and no document of its id. */
function gatewayOf(answer: object): { client: GatewayClient; asked: unknown[] } {
  const asked: unknown[] = [];
  const absent = (path: string) => new PedigreeError('not_found', `nothing at ${path}`, {});
  const client = {
    raw: (path: string) => (path === `/v1/groups/${GROUP}` ? Promise.resolve({}) : Promise.reject(absent(path))),
    get: (path: string) => Promise.reject(absent(path)),
    change: (_method: string, path: string, body: object) => {
      asked.push([path, body]);
      return path.startsWith('/v1/groups/') ? Promise.resolve(answer) : Promise.reject(absent(path));
    },
  };
  return { client: client as unknown as GatewayClient, asked };
}

it('a group of which nobody knows whether it has begun is ended, and what becomes of its documents is said', async () => {
  const answer = { request_id: GROUP, decision: 'end', held_for: [], start: 'unconfirmed' };
  const { client, asked } = gatewayOf(answer);
  await decideHold(client, 'end', { named: GROUP, reason: 'it is lost' });
  expect(printed.join('')).toBe(
    `${GROUP} is ended, though nobody knows whether the registry has begun: its documents end once the registry ` +
      'shows that it has not\n',
  );
  expect(asked).toEqual([
    [`/v1/documents/${GROUP}/end`, { reason: 'it is lost' }],
    [`/v1/groups/${GROUP}/end`, { reason: 'it is lost' }],
  ]);
});

it('--in-work is asked of the group alone, and says that what is in work ends too', async () => {
  const answer = { request_id: GROUP, decision: 'end', held_for: [], start: 'halted', in_work: true };
  const { client, asked } = gatewayOf(answer);
  await decideHold(client, 'end', { named: GROUP, reason: 'it is lost', inWork: true });
  expect(printed.join('')).toBe(
    `${GROUP} is ended, as it had halted: its documents end, also those that the registry shows as in work\n`,
  );
  expect(asked).toEqual([[`/v1/groups/${GROUP}/end`, { reason: 'it is lost', in_work: true }]]);
});
