import { sampleDay, type SampleCommand } from '../../../../apps/cli/src/sample/day.js';
import { erpCommand } from '../../../../apps/cli/src/sample/feed.js';
import type { LoadContext, Message, Subject } from '../subject.js';

const AT = new Date('2026-03-02T07:00:00Z');
const DOCUMENTS_PER_TRIO = 12;
const GAP_MS = 3_000;

/**
 * The same command several times, over both ways in, and the same id with other content: one document (documents), and
 * every other content refused (bad-messages).
 */
export const repeats: Subject = { name: 'repeats', load };

function load(context: LoadContext): Message[] {
  const { random, world, accounts, seed, run, lastsMs } = context;
  const count = Math.max(2, Math.round(context.documents / DOCUMENTS_PER_TRIO));
  const day = sampleDay({
    world,
    seed: (seed ^ 0x2e9ea7) >>> 0,
    run: `${run}00`,
    accounts,
    at: AT,
    consignments: Math.min(900, count + 1),
  });
  const arrivals = day.filter((one) => one.after.length === 0 && one.expected === 'accepted');
  const other = arrivals.pop();
  return arrivals.slice(0, count).flatMap((sample, n) => {
    const commandId = `repeat-${n}`;
    const bodyOf = (content: SampleCommand): Buffer =>
      Buffer.from(JSON.stringify(erpCommand({ ...content, commandId, account: sample.account }, n)));
    const atMs = random.below(Math.max(1, lastsMs - 2 * GAP_MS));
    // The first goes over HTTP: its answer says that it is stored, so that whatever has other content comes second.
    const first: Message = {
      key: commandId,
      atMs,
      via: 'http',
      body: bodyOf(sample),
      commandId,
      expect: { kind: 'taken', outcome: 'accepted' },
    };
    return [first, ...laterOnes(first, bodyOf(other ?? sample), context)];
  });
}

/** The same twice more, and once the same id with other content. */
function laterOnes(first: Message, otherContent: Buffer, { random, hasBroker }: LoadContext): Message[] {
  const later = (name: string): Message => ({
    ...first,
    key: `${first.key}-${name}`,
    atMs: first.atMs + random.below(GAP_MS),
    via: hasBroker && random.below(2) === 0 ? 'amqp' : 'http',
  });
  const again = [1, 2].map((turn) => later(`again-${turn}`));
  const conflict: Message = {
    ...later('conflict'),
    body: otherContent,
    followsKey: first.key,
    expect: { kind: 'refused', code: 'command_conflict' },
  };
  return [...again, conflict];
}
