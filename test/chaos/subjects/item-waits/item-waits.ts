import { erpCommand } from '../../../../apps/cli/src/sample/feed.js';
import { sampleDay, type SampleCommand } from '../../../../apps/cli/src/sample/day.js';
import type { LoadContext, Message, Subject, WantedOutcome } from '../subject.js';
import { overtakings } from './overtakings.js';

const AT = new Date('2026-03-02T07:00:00Z');
const DOCUMENTS_PER_BOX = 30;
/** One arrives and is packed into a container, the other arrives twice. */
const CONSIGNMENTS = 2;
/** Documents of a chain of the day. */
const OF_CHAIN = 4;
const SPREAD_MS = 3_000;

/**
 * Documents about packs and the container around them, at the same time and without a word about their order: whichever
 * registers first, all are accepted. And the same packs are accepted twice, with nothing to come after: the second
 * document meets the first as it registers. All that a place holds is moved, between documents of that place. No
 * document of the whole campaign overtook another of the same items.
 */
export const itemWaits: Subject = { name: 'item-waits', load, check: overtakings };

function load(context: LoadContext): Message[] {
  const boxes = Math.max(1, Math.round(context.documents / DOCUMENTS_PER_BOX));
  return Array.from({ length: boxes }, (_, n) => box(context, n)).flat();
}

/** An arrival, its packing, and then: packs taken out of the container, and the container opened, in any order. */
function box({ random, world, accounts, seed, run, lastsMs, hasBroker }: LoadContext, number: number): Message[] {
  const key = `${run}7${String.fromCharCode(65 + (number % 26))}`;
  const day = sampleDay({
    world,
    seed: (seed + 23_000 + number) >>> 0,
    run: key,
    accounts,
    at: AT,
    consignments: CONSIGNMENTS,
  });
  const [arrival, packing] = day as [SampleCommand, SampleCommand];
  const ids = ['arrival', 'packing', 'take-1', 'open', 'take-2'].map((what) => `box-${number}-${what}`);
  const { subject_id, operation_date, sscc, content } = packing.document as unknown as Packing;
  const own = { subject_id, operation_date };
  const taking = (n: number): SampleCommand['document'] => ({
    ...own,
    ...{ action_id: 552, doc_num: `TAKE${n}\\${key}`, doc_date: '02.03.2026', withdrawal_type: '7' },
    order_details: { sgtin: content.sgtin.slice(n * 5, n * 5 + 3) },
  });
  const opening = { ...own, action_id: 912, sscc: [sscc] };
  const documents = [arrival.document, packing.document, taking(1), opening, taking(2)];
  const twice = [0, 1].map((n): Given => ({
    ...{ commandId: `box-${number}-twice-${n}`, after: [], outcome: 'any' },
    document: { ...(day[OF_CHAIN] as SampleCommand).document, operation_date: OPERATION_DATES[n] as string },
  }));
  const beginMs = random.below(Math.max(1, Math.round(lastsMs / 2)));
  // All that is before it by name: a link that has not registered yet says nothing of what lies behind it.
  const ordered = documents.map((document, n): Given => ({
    ...{ commandId: ids[n] as string, after: ids.slice(0, Math.min(n, 2)), outcome: 'accepted', document },
  }));
  return [...ordered, ...twice, ...movesOfPlaces(number, key, content.sgtin)].map(({ outcome, ...given }, n) => ({
    key: given.commandId,
    atMs: beginMs + random.below(Math.min(SPREAD_MS, lastsMs)),
    via: hasBroker && random.below(2) === 0 ? 'amqp' : 'http',
    body: Buffer.from(JSON.stringify(erpCommand({ ...arrival, ...given }, n))),
    ...{ commandId: given.commandId, after: given.after },
    expect: { kind: 'taken', outcome },
  }));
}

/** Of places that nobody has: the registry rejects what is said of them, and all else goes its way. */
function movesOfPlaces(number: number, key: string, sgtins: string[]): Given[] {
  const [here, there] = [0, 1].map((n) => `000000009${String(number * 2 + n).padStart(5, '0')}`) as [string, string];
  const packs = (n: number) => ({ order_details: { sgtin: sgtins.slice(n, n + 1) } });
  return [
    { action_id: 431, subject_id: here, receiver_id: there, ...packs(20) },
    { action_id: 432, subject_id: here, receiver_id: there },
    { action_id: 431, subject_id: there, receiver_id: here, ...packs(21) },
  ].map((document, n) => ({
    ...{ commandId: `box-${number}-place-${n}`, after: [], outcome: 'any' },
    document: {
      ...{ ...document, operation_date: OPERATION_DATES[0] as string, doc_date: '02.03.2026' },
      doc_num: `PLACE${n}\\${key}`,
    },
  }));
}

type Given = Pick<SampleCommand, 'commandId' | 'after' | 'document'> & { outcome: WantedOutcome };
const OPERATION_DATES = ['2026-03-02T08:00:00+00:00', '2026-03-02T08:00:01+00:00'];

interface Packing {
  subject_id: string;
  operation_date: string;
  sscc: string;
  content: { sgtin: string[] };
}
