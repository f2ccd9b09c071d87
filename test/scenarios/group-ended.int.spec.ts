import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decideHold } from '../../apps/cli/src/commands/holds.js';
import * as doc from '../../apps/sandbox/test/documents.js';
import { until } from '../support/until.js';
import { quickStack } from './quick-stack.js';
import type { Stack } from './stack.js';

const LIMIT_MS = 60_000;
/** Nothing ends by itself: the registry works on each document until its clock is moved on. */
const PROCESSING_MS = 600_000;
/** Groups by the commands that give them: one waits for what the registry says, and one is given up. */
const ACCOUNTS = { waited: 'main', 'given-up': 'north' } as const;
type CommandId = keyof typeof ACCOUNTS;
const IDS = Object.keys(ACCOUNTS) as CommandId[];

interface Group {
  group_id: string;
  phase: string;
  outcome?: string;
  halt?: string;
  members: { command_id: string; outcome?: string; cause?: string }[];
  timeline: { type: string; actor: string }[];
}

let stack: Stack;
const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${stack.gateway.url}${path}`)).json()) as T;
const groupOf = async (commandId: CommandId): Promise<Group> =>
  (await ask<{ group: Group }>(`/v1/commands/${commandId}`)).group;
const reaches = (commandId: CommandId, seen: Partial<Group>): Promise<void> =>
  until(
    `${commandId} shows ${JSON.stringify(seen)}`,
    async () => {
      const group = await groupOf(commandId);
      return (Object.keys(seen) as (keyof Group)[]).every((name) => group[name] === seen[name]);
    },
    LIMIT_MS,
  );
const endsOf = async (commandId: CommandId) =>
  (await groupOf(commandId)).members.map((one) => [one.outcome, one.cause]);
const typesOf = async (commandId: CommandId) => (await groupOf(commandId)).timeline.map((one) => one.type);
/** What the ERP was told of a group, in order. */
async function toldOf(commandId: CommandId): Promise<string[]> {
  const { items } = await ask<{ items: { type: string; data: { command_id: string; outcome?: string } }[] }>(
    '/v1/outcomes?limit=100',
  );
  return items
    .filter((one) => one.data.command_id === commandId && one.type.startsWith('pedigree.group'))
    .map(({ type, data }) => [type, ...(data.outcome === undefined ? [] : [data.outcome])].join(' '));
}

beforeAll(async () => {
  stack = await quickStack('interface-v1', { processingMs: PROCESSING_MS });
  await stack.control('/faults', { fault: 'drop_connection_after_work', method: 'group_start', times: IDS.length });
  for (const [i, command_id] of IDS.entries()) {
    const members = [1, 2].map((n) => ({ command_id: `${command_id}-${n}`, xml: doc.accept([doc.pack(10 * i + n)]) }));
    const body = { command_id, account: ACCOUNTS[command_id], type: 'send_group', group: { members } };
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${stack.gateway.url}/v1/commands`, {
      ...{ method: 'POST', headers },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(202);
  }
  for (const id of IDS) await reaches(id, { phase: 'unconfirmed' });
}, LIMIT_MS + 30_000);

afterAll(() => stack?.stop());

describe('a group whose start got no answer, and that a person ends', () => {
  it(
    'stays open while the registry shows it as in work, or ends on the word of that person',
    async () => {
      expect(await decideHold(stack.client, 'end', { named: 'waited', reason: 'too long' })).toBe(0);
      await reaches('waited', { phase: 'halted', halt: 'ended_by_person' });
      const { group_id: named } = await groupOf('given-up');
      expect(await decideHold(stack.client, 'end', { named, reason: 'they lost it', inWork: true })).toBe(0);
      await reaches('given-up', { phase: 'concluded', outcome: 'failed', halt: 'ended_in_work' });
      expect(await endsOf('given-up')).toEqual(Array(2).fill(['failed', 'not_processed']));
      expect(await endsOf('waited')).toEqual(Array(2).fill([undefined, undefined]));
    },
    LIMIT_MS,
  );

  it(
    'ends as the registry says once it has processed it, and was started once',
    async () => {
      await stack.control('/clock', { advanceMs: PROCESSING_MS * 4 });
      for (const id of IDS) await reaches(id, { phase: 'concluded', outcome: 'accepted' });
      await stack.caughtUp();
      for (const id of IDS) expect(await endsOf(id)).toEqual(Array(2).fill(['accepted', undefined]));
      const begun = (await typesOf('waited')).filter((type) => /Halted|Started|^GroupConcluded/.test(type));
      expect(begun).toEqual(['GroupHalted', 'GroupStarted', 'GroupConcluded']);
      expect(await typesOf('given-up')).not.toContain('GroupStarted');
      expect(await toldOf('waited')).toEqual(['pedigree.group.halted.v1', 'pedigree.group.concluded.v1 accepted']);
      const revised = await toldOf('given-up');
      expect(revised.slice(0, 2)).toEqual(['pedigree.group.halted.v1', 'pedigree.group.concluded.v1 failed']);
      expect(revised.at(-1)).toBe('pedigree.group.revised.v1 accepted');
      const { calls } = await stack.control<{ calls: { account: string; method: string; calls: number }[] }>(
        '/truth/calls',
      );
      const starts = calls.filter((one) => one.method === 'group_start').map((one) => [one.account, one.calls]);
      expect(Object.fromEntries(starts)).toEqual({ main: 1, north: 1 });
      expect(await stack.control('/violations')).toMatchObject({ violations: [], count: 0 });
    },
    LIMIT_MS,
  );
});
