import { documentReading } from '#documents';
import { PostgresEvidenceStore } from '#evidence';
import { checkDigitOf, type Sha256 } from '#kernel';
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
const PACKS_OF_BOX = 3;
const OPERATION_DATE = '<operation_date>2026-03-02T10:00:00+03:00</operation_date>';
const OWN = 'own';
const STREAM = 'inbound-';
const PACKING = 911;

/** Lists are read for ever, and a content that is denied is asked for over days. */
const RECURRING = ['list_incoming', 'list_outgoing', 'container_content', 'watch_suspensions', 'rejudge_suspension'];

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

/** Suppliers ship to us; now and then somebody accepts or packs goods of ours in the web cabinet. */
function stir(context: LoadContext): Stir[] {
  const { random, documents, lastsMs } = context;
  return Array.from({ length: Math.max(KINDS.length, Math.round(documents / DOCUMENTS_PER_STIR)) }, (_, n): Stir[] => {
    const atMs = random.below(lastsMs);
    const make = KINDS[n % KINDS.length] as (typeof KINDS)[number];
    return make(context, n).map((order) => ({ atMs, ...order }));
  }).flat();
}

type Order = Omit<Stir, 'atMs'>;

const KINDS: ((context: LoadContext, n: number) => Order[])[] = [shipped, shipped, accepted, packed];

function shipped({ random, world }: LoadContext): Order[] {
  const product = random.pick(world.products);
  const to = random.pick(participant(world, OWN).branches);
  const body = { from: product.supplier, to, count: 1 + random.below(5), gtin: product.gtin };
  return [{ path: '/counterparties/ship', body }];
}

function accepted(context: LoadContext, n: number): Order[] {
  const { random, world } = context;
  const product = random.pick(world.products);
  const supplier = participant(world, product.supplier).branches[0] as string;
  const facts = `<counterparty_id>${supplier}</counterparty_id>${OPERATION_DATE}`;
  const order = `<order_details><sgtin>${packOf(context, product.gtin, n)}</sgtin></order_details>`;
  return [inCabinet(`<accept action_id="701">${subjectId(context)}${facts}${order}</accept>`)];
}

/** Packs that nobody had told of, of which the registry knows. */
function packed(context: LoadContext, n: number): Order[] {
  const { gtin } = context.random.pick(context.world.products);
  const sgtins = Array.from({ length: PACKS_OF_BOX }, (_, one) =>
    packOf(context, gtin, 10_000 + n * PACKS_OF_BOX + one),
  );
  const place = participant(context.world, OWN).branches[0] as string;
  const digits = `2${String(context.seed % 10_000_000_000).padStart(10, '0')}${String(n).padStart(6, '0')}`;
  const content = sgtins.map((one) => `<sgtin>${one}</sgtin>`).join('');
  const box = `<sscc>${digits}${checkDigitOf(digits)}</sscc>${OPERATION_DATE}<content>${content}</content>`;
  return [
    { path: '/plant', body: { packs: sgtins.map((sgtin) => ({ sgtin, owner: OWN, place })) } },
    inCabinet(`<unit_pack action_id="911">${subjectId(context)}${box}</unit_pack>`),
  ];
}

const packOf = ({ run }: LoadContext, gtin: string, n: number): string =>
  `${gtin}${run}QQ000${String(n).padStart(5, '0')}`;

const subjectId = ({ world }: LoadContext): string =>
  `<subject_id>${participant(world, OWN).branches[0] as string}</subject_id>`;

const inCabinet = (body: string): Order => ({
  path: '/outside',
  body: { via: 'cabinet', xml: `<documents version="1.38">${body}</documents>` },
});

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

async function check({ registry, log, pool }: Ended): Promise<string[]> {
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
    ...(await unclaimed({ registry, log, pool })),
  ];
}

/** Packings of others that waiting by items does not know of: nobody else moves those packs. */
async function unclaimed({ registry, log, pool }: Pick<Ended, 'registry' | 'log' | 'pool'>): Promise<string[]> {
  const packings = (await log.events()).filter(
    ({ type, data }) => type === 'InboundConcluded' && data['docType'] === PACKING && data['outcome'] === 'accepted',
  );
  const accepted = registry.filter(
    (one) => isTheirs(one) && one.doc_type === PACKING && one.result?.toLowerCase() === 'accepted',
  );
  if (packings.length !== accepted.length)
    return [`the registry accepted ${accepted.length} packings of others, and ${packings.length} are known`];
  if (packings.length === 0) return [];
  const digests = packings.map(({ data }) => data['documentSha256'] as Sha256);
  const documents = await new PostgresEvidenceStore({ pool }).getMany(digests);
  const items = [...documents.values()].flatMap((xml) => documentReading().readForeignDocument(xml).items);
  const { rows } = await pool.query<{ child: string; parent: string }>('SELECT child, parent FROM item_container');
  const inside = new Map(rows.map(({ child, parent }) => [child, parent]));
  return complaints(items, ({ id, into }) =>
    inside.get(id) === into ? undefined : `others packed ${id} into ${into}, and it is in ${inside.get(id) ?? 'none'}`,
  );
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
