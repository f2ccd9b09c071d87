import type { ConcludedDocument, ItemEffect, ReceiptFacts, ToldDocument } from '#documents';
import { eventsOf, RECALL, typeKnowledge } from '#documents';
import type { EvidenceStore } from '#evidence';
import { defined, isSgtin, PedigreeError, type Sgtin, type Sscc } from '#kernel';
import type { DocumentDetail, Movement } from '../port.js';
import type { DocumentReading } from '../sgtin-history/movements.js';
import type { ContainerStep } from '../sgtin-history/query.js';
import { namedOperations } from '../sgtin-history/recalls.js';
import { isInOurName } from '../sgtin-history/row.js';

export interface EpcisReading {
  evidence: EvidenceStore;
  documents: DocumentReading;
}

/** Their documents are read again. */
const MOST_MOVEMENTS = 2_000;

/**
 * What the life of a pack or container tells in EPCIS: of each movement the steps of its document, for the item alone,
 * or for the container that held it; of a packing, all that it put into the container. Read from the evidence, so that
 * it says what the documents say. One document at a time.
 * @throws PedigreeError `invalid_parameter` for a life of more than 2,000 movements.
 */
export async function toldOfItem(
  { item, movements }: { item: Sgtin | Sscc; movements: ContainerStep[] },
  reading: EpcisReading,
): Promise<ToldDocument[]> {
  if (movements.length > MOST_MOVEMENTS)
    throw new PedigreeError(
      'invalid_parameter',
      `${item} has ${movements.length} movements; a history in EPCIS has ${MOST_MOVEMENTS} at most: ask with as_of`,
      { field: 'as_of' },
    );
  const told: ToldDocument[] = [];
  const idsOf = namesOf(movements);
  let order: Order;
  for (const own of byDocument(movements)) {
    const [first] = own;
    if (first.channel === 'registry_answer') {
      told.push(...own.map(toldByAnswer));
      continue;
    }
    const story = await readMovements({ own, item }, reading);
    const source = own.find(({ corrects }) => corrects !== undefined) ?? first;
    told.push({ ...toldOf(source, fromTheGoods(story, order)), ids: idsOf.get(first) ?? [] });
    order = own.reduce(orderAfter, order);
  }
  return told;
}

type OfDocument = [ContainerStep, ...ContainerStep[]];

/** Movements in their order, those of one document together. */
function byDocument(movements: readonly ContainerStep[]): OfDocument[] {
  const documents: OfDocument[] = [];
  for (const movement of movements) {
    const last = documents.at(-1);
    if (last?.[0].knownAt === movement.knownAt) last.push(movement);
    else documents.push([movement]);
  }
  return documents;
}

/** By which ids a later document may name a movement: as a recall does in the history. */
function namesOf(movements: readonly ContainerStep[]): Map<ContainerStep, string[]> {
  const ids = new Map<ContainerStep, string[]>();
  const named = namedOperations(
    movements.map((at) => {
      const { requestId = '', documentId = null, channel } = at;
      return { requestId, documentId, isOurs: isInOurName(channel), at };
    }),
  );
  for (const [id, all] of named) for (const movement of all) ids.set(movement, [...(ids.get(movement) ?? []), id]);
  return ids;
}

type Story = Pick<ConcludedDocument, 'facts' | 'effects'>;
/** How the transfer began that an item is in, or was in last. */
type Order = ReturnType<typeof typeKnowledge.transferOf>;

function orderAfter(before: Order, { result, docType }: Pick<Movement, 'result' | 'docType'>): Order {
  const step = result === 'applied' ? typeKnowledge.transferOf(docType) : undefined;
  return step === undefined || step === 'ends' ? before : step;
}

/** An acceptance is told from where the goods lie: in reverse order the shipper accepts, and the receiver has them. */
function fromTheGoods({ facts, effects }: Story, order: Order): Story {
  const { subjectId, counterpartyId: place } = facts;
  const isReverse = order === 'is claimed' && typeKnowledge.transferOf(facts.docType) === 'ends';
  if (!isReverse || place === undefined) return { facts, effects };
  return {
    facts: { ...facts, subjectId: place, counterpartyId: subjectId },
    effects: effects.map((effect) => (effect.result === 'applied' ? { ...effect, place } : effect)),
  };
}

/** No document tells it, so no step of anybody's business does. */
const toldByAnswer = ({ docType, documentSha256 }: Movement): ToldDocument => ({
  ...{ events: [], ids: [] },
  leftOut: [{ doc_type: docType, document_sha256: documentSha256, why: "it is the registry's answer, no document" }],
});

const namedItem = (id: string): ItemEffect['item'] => ({ kind: isSgtin(id) ? 'sgtin' : 'sscc', id });

/** The document of these movements in the life of an item, and what it did to the item of each, or put into it. */
async function readMovements({ own, item }: { own: OfDocument; item: string }, reading: EpcisReading): Promise<Story> {
  const { documents } = reading;
  const [{ channel, documentSha256, receiptSha256 }] = own;
  const isOurs = channel === undefined;
  const bytes = await bytesOf(documentSha256, reading);
  const facts = isOurs ? documents.readDocument(bytes, documentSha256) : documents.readForeignDocument(bytes);
  let all: ItemEffect[] = [];
  if (own.some(({ result }) => result === 'applied')) {
    const receipt = await receiptOf(receiptSha256, reading);
    all = isOurs ? documents.effectsOf(facts, receipt as ReceiptFacts) : documents.foreignEffectsOf(facts, receipt);
  }
  const effects = own.flatMap((movement, n) => {
    const behind = own.slice(n + 1).filter((one) => one.item === movement.item).length;
    const here = effectsIn(all, { movement, behind });
    return movement.through === 'place' ? here.map((one) => ({ ...one, item: namedItem(item) })) : here;
  });
  return { facts, effects };
}

/** Of an item that a document names several times, the last movements are here: so many are `behind` this one. */
function effectsIn(
  all: readonly ItemEffect[],
  { movement, behind }: { movement: ContainerStep; behind: number },
): ItemEffect[] {
  const { result, errorText, item, isPacking, status } = movement;
  if (result !== 'applied') return [{ item: namedItem(item), result, ...defined({ errorText }) }];
  if (isPacking === true) return all.filter((one) => isPackedInto(one, item));
  const told = all.filter((one) => one.item.id === item).at(-1 - behind);
  // What the pack was before decides, too: a suspended one stays so.
  return told === undefined ? [] : [{ ...told, ...defined({ status: status ?? told.status }) }];
}

const isPackedInto = ({ containment }: ItemEffect, sscc: string): boolean =>
  containment?.kind === 'packed' && containment.into === sscc;

/**
 * What a concluded document of ours tells in EPCIS, of all its items; any other one says that it is not concluded. How
 * the transfer began that it ends is told by the movements of its first item.
 */
export async function toldOfDocument(
  detail: DocumentDetail,
  reading: EpcisReading & { movementsOf(item: string): Promise<Movement[]> },
): Promise<ToldDocument> {
  const { outcome, documentSha256, receiptSha256, docType } = detail;
  if (outcome === undefined || receiptSha256 === undefined) {
    const why = outcome === undefined ? 'it is not concluded' : `it ended ${outcome}, without a receipt`;
    return { events: [], leftOut: [{ doc_type: docType, document_sha256: documentSha256, why }], ids: [] };
  }
  const facts = reading.documents.readDocument(await bytesOf(documentSha256, reading), documentSha256);
  const receipt = await receiptOf(receiptSha256, reading);
  const story = { facts, effects: reading.documents.effectsOf(facts, receipt as ReceiptFacts) };
  const [first] = facts.items;
  if (first === undefined || typeKnowledge.transferOf(docType) !== 'ends') return toldOf(detail, story);
  const movements = await reading.movementsOf(first.id);
  const at = movements.findIndex((one) => one.channel === undefined && one.requestId === detail.requestId);
  const order = movements.slice(0, at < 0 ? undefined : at).reduce(orderAfter, undefined);
  return toldOf(detail, fromTheGoods(story, order));
}

type Source = Pick<
  Movement,
  'documentId' | 'requestId' | 'acceptedAt' | 'documentSha256' | 'receiptSha256' | 'corrects'
>;

function toldOf(source: Source, { facts, effects }: Story): ToldDocument {
  const { documentId, requestId, acceptedAt, documentSha256, receiptSha256, corrects } = source;
  const document = { facts, effects, documentSha256, ...defined({ acceptedAt, documentId, receiptSha256 }) };
  return {
    ...eventsOf(document),
    ids: [documentId, requestId].filter((one) => one !== undefined),
    ...defined({ acceptedAt, corrects }),
    ...(facts.docType === RECALL ? { isRecall: true } : {}),
  };
}

const receiptOf = async (sha256: string | undefined, reading: EpcisReading): Promise<ReceiptFacts | undefined> =>
  sha256 === undefined ? undefined : reading.documents.readReceipt(await bytesOf(sha256, reading));

async function bytesOf(sha256: string, { evidence }: EpcisReading): Promise<Buffer> {
  const found = await evidence.get(sha256);
  if (found === undefined) throw new Error(`evidence ${sha256} is missing from the evidence store`);
  return found.bytes;
}
