import { isSgtin, isSscc } from '#kernel';
import type { DocumentContent, DocumentItem, DocumentRow, RegistryDocument } from '../documents/document.js';
import type { DocumentStore } from '../documents/document-store.js';
import type { Container, PackState, PackStore } from '../packs/packs.js';
import type { Participant, World } from '../packs/world.js';
import { PAUSED } from '../packs/trail.js';
import type { Books } from './books.js';
import { because, type Reason } from './reasons.js';

/** What a check knows: the document, who speaks and from where, and the packs. */
export interface Operation {
  document: RegistryDocument;
  content: DocumentContent;
  sender: Participant;
  /** Who speaks (subject_id): a place of the sender, or his system id for all of his places. */
  place: string;
  packs: PackStore;
  world: World;
  books: Books;
  /** Every document that the registry has taken. */
  documents: DocumentStore;
}

/** An error about an item, or about the document. */
export interface ItemError {
  reason: Reason;
  objectId?: string;
}

/** How one document type treats its items. */
export interface OperationRule {
  /** For queries: the answer that stands in place of a receipt. */
  answer?(operation: Operation): string;
  /** A reason against the document as a whole, before any item. */
  document?(operation: Operation): Reason | undefined;
  /** For types that name a place or a series: the items that this means. */
  items?(operation: Operation): DocumentItem[];
  /** Applies one item, or says why it cannot. */
  item?(operation: Operation, item: DocumentItem): Reason | undefined;
  /** Applies one row, or says what is wrong with it; an error about an item means that the others are applied. */
  row?(operation: Operation, row: DocumentRow): ItemError[];
  /** A row with any error is not applied at all. */
  isRowWhole?: boolean;
  /** For types whose items stand or fall together: applies all, or says what is wrong with each. */
  whole?(operation: Operation): ItemError[];
  /** `whole` needs no items: the document names none. */
  isItemless?: boolean;
  /** What is noted when the document was carried out, at least in part. */
  after?(operation: Operation): void;
}

/** How an operation treats a single pack: may it, and what becomes of it. */
interface PackRule {
  check(pack: PackState, operation: Operation): Reason | undefined;
  next(pack: PackState, operation: Operation, item: DocumentItem): PackState;
  /** What becomes of a container that the document names, after its packs. */
  container?(container: Container, operation: Operation): void;
  /**
   * Whether a pack or container named singly leaves the unit that holds it, or stays in it; otherwise naming it singly
   * is refused.
   */
  leavesContainer: boolean | 'stays';
}

export const field = ({ content }: Operation, name: string): string => content.fields.get(name) ?? '';

/** The place of activity that a side stands for: itself, or the first one of the participant with this system id. */
export function placeOfSide(world: World, side: string): string {
  const participant = world.participantAt(side);
  return participant?.systemId === side ? (participant.branches[0] as string) : side;
}

/** A pack that its owner disposes of: his, at the place, in circulation. */
export function disposable(
  pack: PackState,
  { sender, place }: Operation,
  statuses: readonly string[] = ['in_circulation'],
): Reason | undefined {
  if (pack.owner !== sender.key) return because('not_owner');
  if (pack.transfer !== undefined || pack.status === 'in_realization') return because('awaits_acceptance');
  if (pack.status === PAUSED && !statuses.includes(PAUSED)) return because('suspended');
  // What is open to suspended packs is open to these.
  if (pack.flawed === true && !statuses.includes(PAUSED)) return because('bad_quality');
  if (!statuses.includes(pack.status)) return because('wrong_status', pack.status);
  if (pack.place !== place && place !== sender.systemId) return because('wrong_place', `it is at ${pack.place}`);
  return undefined;
}

/** Applies a pack rule to an item: to the pack, or to everything inside the container. */
function applyToItem(rule: PackRule, operation: Operation, item: DocumentItem): Reason | undefined {
  return item.kind === 'sgtin' ? applyToPack(rule, operation, item) : applyToContainer(rule, operation, item);
}

/** An item rule out of a pack rule. The states of one document are shared by the packs that were alike. */
export function itemRule(rule: PackRule): NonNullable<OperationRule['item']> {
  const memo = new WeakMap<Operation, Map<PackState, PackState>>();
  const sharing: PackRule = {
    ...rule,
    next(pack, operation, item) {
      if (item.part !== undefined) return rule.next(pack, operation, item);
      let known = memo.get(operation);
      if (known === undefined) memo.set(operation, (known = new Map()));
      let next = known.get(pack);
      if (next === undefined) known.set(pack, (next = rule.next(pack, operation, item)));
      return next;
    },
  };
  return (operation, item) => applyToItem(sharing, operation, item);
}

function applyToPack(rule: PackRule, operation: Operation, item: DocumentItem): Reason | undefined {
  const { packs } = operation;
  if (!isSgtin(item.id)) return because('malformed_item');
  const pack = packs.pack(item.id);
  if (pack === undefined) return because('pack_not_found');
  const reason = rule.check(pack, operation);
  if (reason !== undefined) return reason;
  if (pack.sscc !== undefined && rule.leavesContainer === false) return because('inside_container', pack.sscc);
  const next = rule.next(pack, operation, item);
  if (next.partUsed === INVALID_PART) return because('wrong_part', item.part);
  if (rule.leavesContainer === 'stays') return void packs.setPack(item.id, next);
  if (pack.sscc !== undefined) packs.takeOutPack(item.id);
  packs.setPack(item.id, next.sscc === undefined ? next : { ...next, sscc: undefined });
  return undefined;
}

function applyToContainer(rule: PackRule, operation: Operation, item: DocumentItem): Reason | undefined {
  const { packs } = operation;
  if (!isSscc(item.id)) return because('malformed_item');
  if (item.part !== undefined) return because('part_of_container');
  const container = packs.container(item.id);
  const reason = whyContainerFails(rule, operation, container) ?? whyNotSingly(rule, container);
  if (reason !== undefined || container === undefined) return reason;
  const content = packs.contentOf(container);
  if (content === undefined) return because('container_nesting');
  if (container.parent !== undefined && rule.leavesContainer !== 'stays') packs.takeOutContainer(container);
  for (const sgtin of content.sgtins) packs.setPack(sgtin, rule.next(packs.pack(sgtin) as PackState, operation, item));
  for (const inner of content.containers) rule.container?.(inner, operation);
  return undefined;
}

const whyNotSingly = (rule: PackRule, container: Container | undefined): Reason | undefined =>
  container?.parent !== undefined && rule.leavesContainer === false
    ? because('inside_container', container.parent)
    : undefined;

/** So many packs inside one container are named at most. */
const MAX_INNER = 100;

/** A container can do what every pack in it can. */
function whyContainerFails(rule: PackRule, operation: Operation, container: Container | undefined): Reason | undefined {
  if (container === undefined) return because('container_not_found');
  if (container.unpacked) return because('container_unpacked');
  const content = operation.packs.contentOf(container);
  if (content === undefined) return because('container_nesting');
  const inner: NonNullable<Reason['inner']> = [];
  for (const sgtin of content.sgtins) {
    const reason = rule.check(operation.packs.pack(sgtin) as PackState, operation);
    if (reason !== undefined && inner.push({ sgtin, reason }) >= MAX_INNER) break;
  }
  return inner[0] === undefined ? undefined : { ...inner[0].reason, inner };
}

/** Marks a part that cannot be: more than is left, or no fraction at all. */
export const INVALID_PART = 'invalid';

/** The part used after one more `a/b`: `2/10` and `3/10` make `5/10`; undefined when the pack is used up. */
export function addPart(used: string | undefined, part: string): string | undefined {
  const added = fraction(part);
  if (added === undefined) return INVALID_PART;
  const before = used === undefined ? { count: 0, of: added.of } : fraction(used);
  if (before === undefined || before.of !== added.of || before.count + added.count > added.of) return INVALID_PART;
  const count = before.count + added.count;
  return count === added.of ? undefined : `${count}/${added.of}`;
}

function fraction(part: string): { count: number; of: number } | undefined {
  const match = /^(\d{1,6})\/(\d{1,6})$/.exec(part);
  const count = Number(match?.[1]);
  const of = Number(match?.[2]);
  return count > 0 && of > 0 && count <= of ? { count, of } : undefined;
}
