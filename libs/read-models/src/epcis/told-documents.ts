import type { ConcludedDocument, ItemEffect, ReceiptFacts, ToldDocument } from '#documents';
import { CORRECTION_OF_DETAILS, eventsOf, leftOutOf, RECALL, typeKnowledge } from '#documents';
import type { EvidenceStore } from '#evidence';
import { defined, isSgtin, isSscc, PedigreeError, type Sgtin, type Sscc } from '#kernel';
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
  const around: Around = new Map();
  let order: Order;
  for (const own of byDocument(movements)) {
    const [first] = own;
    if (first.channel === 'registry_answer') {
      told.push(...own.map(toldByAnswer));
      continue;
    }
    const story = withThoseWithin(await readMovements({ own, item }, reading), { item, around });
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

/** The container of an item, as the packings told it so far. */
type Around = Map<string, string>;

/** Nested containers are opened with what is around them: of those in between that hold the item, each is. */
function withThoseWithin({ facts, effects }: Story, { item, around }: { item: string; around: Around }): Story {
  const all = effects.flatMap((effect) => {
    const opened = openedBy(effect, containersOf(item, around));
    noteAround(effect, opened, { item, around });
    return [effect, ...opened.slice(1).map((id) => ({ ...effect, item: namedItem(id) }))];
  });
  return { facts, effects: all };
}

/** The container that is opened, and those of `around` that are opened with it, as far as they are known. */
function openedBy({ item, containment }: ItemEffect, around: string[]): string[] {
  if (containment?.kind !== 'opened') return [];
  if (containment.recursive !== true) return [item.id];
  const at = around.indexOf(item.id);
  return [item.id, ...(at < 0 ? around : around.slice(0, at))];
}

/** What becomes of a container after the item has left it is told by no movement of the item: it is forgotten. */
function noteAround(
  { item: moved, containment }: ItemEffect,
  opened: string[],
  { item, around }: { item: string; around: Around },
): void {
  if (containment?.kind === 'packed') around.set(moved.id, containment.into);
  else if (containment !== undefined) {
    around.delete(moved.id);
    for (const [inner, container] of around) if (opened.includes(container)) around.delete(inner);
    const still = [item, ...containersOf(item, around)];
    for (const inner of around.keys()) if (!still.includes(inner)) around.delete(inner);
  }
}

/** Itself, where it is one, and those around it from the inside out. Wrong documents may nest them in a ring. */
function containersOf(item: string, around: Around): string[] {
  const all = new Set([item]);
  for (const one of all) {
    const next = around.get(one);
    if (next !== undefined) all.add(next);
  }
  return [...all].filter(isSscc);
}

/** No document tells it, so no step of anybody's business does. */
const toldByAnswer = (movement: Movement): ToldDocument => ({
  ...{ events: [], ids: [], documentSha256: movement.documentSha256 },
  leftOut: [leftOutOf(movement, "it is the registry's answer, no document")],
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
 * What a concluded document of ours tells in EPCIS, of all its items, and what recalls it; any other one says that it
 * is not concluded. How the transfer began that it ends, and its recall, is told by the movements of its first item.
 */
export async function toldOfDocument(
  detail: DocumentDetail,
  reading: EpcisReading & { movementsOf(item: string): Promise<Movement[]> },
): Promise<ToldDocument[]> {
  const { outcome, documentSha256, receiptSha256, docType } = detail;
  if (outcome === undefined || receiptSha256 === undefined) {
    const why = outcome === undefined ? 'it is not concluded' : `it ended ${outcome}, without a receipt`;
    return [{ events: [], leftOut: [leftOutOf(detail, why)], ids: [], documentSha256 }];
  }
  const facts = reading.documents.readDocument(await bytesOf(documentSha256, reading), documentSha256);
  const receipt = await receiptOf(receiptSha256, reading);
  const story = { facts, effects: reading.documents.effectsOf(facts, receipt as ReceiptFacts) };
  const [first] = facts.items;
  const isEnd = typeKnowledge.transferOf(docType) === 'ends';
  if (first === undefined || !(isEnd || typeKnowledge.isRecallable(docType))) return [toldOf(detail, story)];
  const movements = await reading.movementsOf(first.id);
  const at = movements.findIndex((one) => one.channel === undefined && one.requestId === detail.requestId);
  const order = movements.slice(0, at < 0 ? undefined : at).reduce(orderAfter, undefined);
  const own = movements[at];
  const ids = own === undefined ? undefined : namesOf(movements).get(own);
  const told = { ...toldOf(detail, fromTheGoods(story, order)), ...defined({ ids }) };
  const recalls = movements.filter((one) => one.docType === RECALL && isNamedBy(one, told));
  const toldToo = recalls.map(async (one) => toldOf(one, await readMovements({ own: [one], item: first.id }, reading)));
  return [told, ...(await Promise.all(toldToo))];
}

const isNamedBy = ({ corrects }: Movement, { ids }: ToldDocument): boolean =>
  ids.some((id) => id.toLowerCase() === corrects?.toLowerCase());

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
    ...{ documentSha256, ...defined({ acceptedAt, corrects }) },
    ...(facts.docType === RECALL ? { isRecall: true } : {}),
    ...defined({ details: facts.docType === CORRECTION_OF_DETAILS ? detailsIn(effects) : undefined }),
  };
}

/** A correction of details says the same of all its items. */
const detailsIn = (effects: readonly ItemEffect[]): ToldDocument['details'] =>
  effects.find(({ result }) => result === 'applied');

const receiptOf = async (sha256: string | undefined, reading: EpcisReading): Promise<ReceiptFacts | undefined> =>
  sha256 === undefined ? undefined : reading.documents.readReceipt(await bytesOf(sha256, reading));

async function bytesOf(sha256: string, { evidence }: EpcisReading): Promise<Buffer> {
  const found = await evidence.get(sha256);
  if (found === undefined) throw new Error(`evidence ${sha256} is missing from the evidence store`);
  return found.bytes;
}
