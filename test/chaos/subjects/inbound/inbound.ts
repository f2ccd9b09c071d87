import { participant } from '../../../../apps/cli/src/sample/world.js';
import type { CampaignLog } from '../../campaign-log.js';
import {
  complaints,
  type Ended,
  type LoadContext,
  type Meanwhile,
  type Stir,
  type Subject,
  type TruthDocument,
} from '../subject.js';

const DOCUMENTS_PER_STIR = 15;
const OWN = 'own';
const STREAM = 'inbound-';

/** Lists are read for ever, and a content that is denied is asked for over days. */
const RECURRING = ['list_incoming', 'list_outgoing', 'container_content', 'suspended_list', 'rejudge_suspension'];

/**
 * What others send to us, and what is sent in our name past Pedigree: each seen, kept and concluded once, and nothing
 * of our own taken for theirs.
 */
export const inbound: Subject = { name: 'inbound', stir, unrest, check, recurring: RECURRING };

interface Seen {
  seen: number;
  concluded: number;
  recognised: number;
}

/** Suppliers ship to us; every third time somebody accepts goods of ours in the web cabinet. */
function stir({ random, world, documents, lastsMs, run }: LoadContext): Stir[] {
  const own = participant(world, OWN);
  return Array.from({ length: Math.max(2, Math.round(documents / DOCUMENTS_PER_STIR)) }, (_, n): Stir => {
    const atMs = random.below(lastsMs);
    const product = random.pick(world.products);
    if (n % 3 < 2)
      return {
        atMs,
        path: '/counterparties/ship',
        body: { from: product.supplier, to: random.pick(own.branches), count: 1 + random.below(5), gtin: product.gtin },
      };
    const supplier = participant(world, product.supplier).branches[0] as string;
    const sgtin = `${product.gtin}${run}QQ000${String(n).padStart(5, '0')}`;
    const facts =
      `<subject_id>${own.branches[0]}</subject_id><counterparty_id>${supplier}</counterparty_id>` +
      '<operation_date>2026-03-02T10:00:00+03:00</operation_date>';
    const xml =
      `<documents version="1.38"><accept action_id="701">${facts}<order_details><sgtin>${sgtin}</sgtin>` +
      '</order_details></accept></documents>';
    return { atMs, path: '/outside', body: { via: 'cabinet', xml } };
  });
}

const isTheirs = (one: TruthDocument): boolean =>
  one.receiver === OWN || (one.receiver === null && one.account === null && one.sender === OWN);

/** What the registry still works on for others: its end may bring a document to us. */
const isUnderWay = (one: TruthDocument): boolean => one.account === null && one.processed_at === null;

/** Documents of others that we have not finished with, or that are still to come. */
async function unrest({ registry, log }: Meanwhile): Promise<number> {
  const known = await seenIn(log);
  const isOpen = (one: TruthDocument): boolean => isTheirs(one) && (known.get(one.document_id)?.concluded ?? 0) === 0;
  return (await registry()).filter((one) => isOpen(one) || isUnderWay(one)).length;
}

async function check({ registry, log }: Ended): Promise<string[]> {
  const known = await seenIn(log);
  const theirs = new Map(registry.filter(isTheirs).map((one) => [one.document_id, one]));
  return [
    ...complaints(theirs.values(), (one) => {
      const { seen = 0, concluded = 0 } = known.get(one.document_id) ?? {};
      return seen === 1 && concluded === 1
        ? undefined
        : `${one.document_id} (type ${one.doc_type}) was seen ${seen} times and concluded ${concluded} times`;
    }),
    ...complaints(known, ([documentId, { recognised }]) =>
      theirs.has(documentId) || recognised > 0 ? undefined : `${documentId} was taken for a document of others`,
    ),
  ];
}

/** What the log says of the documents of others, by document_id. */
async function seenIn(log: CampaignLog): Promise<Map<string, Seen>> {
  return new Map(
    [...(await log.streams(STREAM))].map(([stream, life]) => {
      const times = (type: string): number => life.filter((event) => event.type === type).length;
      return [
        stream.slice(STREAM.length),
        { seen: times('InboundSeen'), concluded: times('InboundConcluded'), recognised: times('InboundRecognised') },
      ];
    }),
  );
}
