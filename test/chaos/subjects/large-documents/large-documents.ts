import { erpCommand } from '../../../../apps/cli/src/sample/feed.js';
import { sampleDay } from '../../../../apps/cli/src/sample/day.js';
import type { LoadContext, Message, Subject } from '../subject.js';

const AT = new Date('2026-03-02T07:00:00Z');
const DOCUMENTS_PER_LARGE = 25;
/** As XML about 40 KB, twice what a campaign lets one send hold. */
const PACKS = 950;
const SPARE = 16;

/**
 * Documents above the limit of one send: announced, brought up in parts, finished, whatever breaks between. They end as
 * all others do (documents).
 */
export const largeDocuments: Subject = { name: 'large-documents', load };

function load({ random, world, accounts, seed, run, documents, lastsMs, hasBroker }: LoadContext): Message[] {
  const count = Math.max(1, Math.round(documents / DOCUMENTS_PER_LARGE));
  const day = sampleDay({
    world,
    seed: (seed ^ 0x1a46e) >>> 0,
    run: `${run}4A`,
    accounts,
    at: AT,
    consignments: count + SPARE,
    packs: PACKS,
  });
  const arrivals = day.filter((one) => one.after.length === 0 && one.expected === 'accepted').slice(0, count);
  return arrivals.map((sample, n): Message => {
    const commandId = `large-${n}`;
    return {
      key: commandId,
      atMs: random.below(lastsMs),
      via: hasBroker && random.below(2) === 0 ? 'amqp' : 'http',
      body: Buffer.from(JSON.stringify(erpCommand({ ...sample, commandId }, n))),
      commandId,
      expect: { kind: 'taken', outcome: 'accepted' },
    };
  });
}
