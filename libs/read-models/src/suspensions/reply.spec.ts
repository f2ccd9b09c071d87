import { expect, it } from '@jest/globals';
import { decideSuspension, evolveSuspension, NO_SUSPENSION, type SuspensionCommand } from '#domain';
import type { RecordedEvent } from '#event-store';
import { replyOf } from './reply.js';

const suspensionId = '0b8c5f0e-6c0e-5b61-9f0e-0d2f7a1c9e55';
const letter = { number: '1', date: '2026-03-01', from: 'the maker', letterSha256: 'a'.repeat(64) };
const match = (series: string): SuspensionCommand => ({
  ...{ type: 'Match', suspensionId, matches: [{ gtin: '04600000000015', series }] },
});
const places = ['P1', 'P2'].map((place, n) => ({ place, found: 3 + n, quarantined: 2, shipped: n, returned: 0 }));
const REPLY: SuspensionCommand = { type: 'Reply', suspensionId, places };
const BEGUN: SuspensionCommand[] = [
  { type: 'Enter', suspensionId, action: 'suspend', product: 'Aspirin', series: 'A1', ...letter },
  match('A1'),
];

/** The stream after these commands. */
function streamOf(commands: SuspensionCommand[]): RecordedEvent[] {
  const events: RecordedEvent[] = [];
  commands.reduce((state, command) => {
    const decided = decideSuspension(state, command);
    for (const event of decided)
      events.push({
        ...{ ...event, stream: `suspension-${suspensionId}`, version: events.length, schemaVersion: 1 },
        ...{ position: BigInt(events.length + 1), id: String(events.length), recordedAt: new Date(events.length) },
        metadata: { actor: { kind: 'person', name: 'anna', authenticatedBy: 'test' } },
      } as unknown as RecordedEvent);
    return decided.reduce(evolveSuspension, state);
  }, NO_SUSPENSION);
  return events;
}

/** The reply, with the series of which our record was asked. */
async function told(...more: SuspensionCommand[]) {
  let asked: string[] = [];
  const reply = await replyOf(streamOf([...BEGUN, ...more]), {
    asOf: new Date(0),
    affectedBy: async ({ state }) => {
      asked = state.matches.map(({ series }) => series);
      return { affected: [], seriesUnknown: [] };
    },
  });
  return { reply, asked };
}

it('there is none before somebody has replied', async () => {
  expect((await told()).reply).toBeUndefined();
});

it('a reply has the figures of each place, their sums, and stays the newest when it is closed', async () => {
  const { reply } = await told(REPLY, { type: 'Close', suspensionId });
  expect(reply).toMatchObject({ version: 1, isNewest: true, places, nothingFound: false, position: '3' });
  expect(reply?.totals).toEqual({ found: 7, quarantined: 4, shipped: 1, returned: 0 });
});

it.each<[string, SuspensionCommand]>([
  ['another letter', { type: 'Change', suspensionId, action: 'recall', ...letter, number: '2' }],
  ['another match', match('A2')],
])('after %s a reply is owed again, and the old one speaks of what it was about', async (_, change) => {
  const { reply, asked } = await told(REPLY, change);
  expect(reply).toMatchObject({ isNewest: false, action: 'suspend', number: '1', matches: [{ series: 'A1' }] });
  expect(asked).toEqual(['A1']);
  expect((await told(REPLY, change, REPLY)).reply).toMatchObject({ isNewest: true });
});
