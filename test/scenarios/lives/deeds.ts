import * as doc from '../../../apps/sandbox/test/documents.js';
import { documentOf } from '../../../apps/sandbox/test/instance.js';
import type { Deed, Step } from './plan.js';
import type { PackTruth, UnitTruth, World } from './truth.js';

/** What a step comes to: a document and who sends it, or an order to the control port. */
export type Act =
  | { by: 'own'; xml: string }
  | { by: 'customer-a' | 'supplier-a' | 'the cabinet'; xml: string }
  | { by: 'the regulator'; sgtins: string[]; haltType: 'suspend' | 'cancel' };

const { warehouse: HERE, second: SECOND, supplier: SUPPLIER, customer: CUSTOMER } = doc.PLACES;
/** Of the types that 250 can cancel, those that happen here. */
const CANCELLABLE: ReadonlySet<number> = new Set([313, 431]);

interface Chosen {
  step: Step;
  world: World;
  /** An SSCC that nobody has used. */
  newBox: () => string;
  /** Accepted operations of ours that may be cancelled. */
  operations: readonly { documentId: string; docType: number }[];
}
type Make = (chosen: Chosen) => Act | undefined;

const isThere = (what: { owner: string; place: string }, owner: string, place: string): boolean =>
  what.owner === owner && what.place === place;
const isFree = (pack: PackTruth): boolean => pack.transfer === null && pack.status === 'in_circulation';
const isMarked = ({ status }: PackTruth): boolean => status === 'marked';
/** Also what is not in circulation yet may be packed, and moved between places of one owner. */
const isMovable = (pack: PackTruth): boolean => isFree(pack) || isMarked(pack);

/** Where a step of ours happens: mostly at the warehouse, where most packs are. */
const placeOf = ({ picks }: Step): string => ((picks[3] as number) < 0.75 ? HERE : SECOND);

/** From whom it comes to us: a customer returns what we have shipped to him. */
const shipperOf = ({ picks }: Step): string => ((picks[3] as number) < 0.7 ? SUPPLIER : CUSTOMER);

/** Up to three of those that fit; of any packs, where the step is wild. */
function some<T extends { id: string }>({ step, world }: Chosen, fitting: readonly T[], most = 3): string[] {
  const [count = 0, first = 0] = step.picks;
  const wild = step.isWild ? [world.packs[Math.floor(first * world.packs.length)]?.id ?? ''] : [];
  const from = Math.floor(first * fitting.length);
  const ordered = [...fitting.slice(from), ...fitting.slice(0, from)].map(({ id }) => id);
  return [...new Set([...wild, ...ordered.slice(0, 1 + Math.floor(count * most))])];
}
const one = <T>({ step: { picks } }: Chosen, fitting: readonly T[]): T | undefined =>
  fitting[Math.floor((picks[2] as number) * fitting.length)];

type Fits = (pack: PackTruth) => boolean;
type Find = (world: World, owner: string, place: string) => { id: string }[];

const looseThat =
  (fits: Fits) =>
  (world: World, owner: string, place: string): PackTruth[] =>
    world.packs.filter((pack) => isThere(pack, owner, place) && fits(pack) && pack.sscc === null);
const [loose, looseMarked, loosePackable] = [looseThat(isFree), looseThat(isMarked), looseThat(isMovable)];
const paused = (world: World, owner: string, place: string): PackTruth[] =>
  world.packs.filter((pack) => isThere(pack, owner, place) && pack.status === 'paused_circulation' && !pack.transfer);
const boxesAt = (world: World, owner: string, place: string): UnitTruth[] =>
  world.boxes.filter((box) => isThere(box, owner, place) && !box.unpacked);
/** What a document may name: packs by themselves, and outermost containers of which nothing is under way. */
const thingsThat =
  (fits: Fits): Find =>
  (world, owner, place) => [
    ...looseThat(fits)(world, owner, place),
    ...boxesAt(world, owner, place).filter((box) => box.parent === null && world.inside(box).every(fits)),
  ];
const [things, movable] = [thingsThat(isFree), thingsThat(isMovable)];
/** What is under way between two sides: packs by themselves, and outermost containers. */
function underWay(
  world: World,
  from: string,
  { to, order = 'direct' }: { to: string; order?: string },
): { id: string }[] {
  const isIt = ({ transfer }: PackTruth): boolean =>
    transfer !== null && transfer.from === from && transfer.to === to && transfer.order === order;
  return [
    ...world.packs.filter((pack) => isIt(pack) && pack.sscc === null),
    ...world.boxes.filter((box) => box.parent === null && !box.unpacked && world.inside(box).some(isIt)),
  ];
}

const ours = (ids: string[], write: (ids: string[]) => string): Act | undefined =>
  ids.length === 0 ? undefined : { by: 'own', xml: write(ids) };
const theirs = (
  by: 'customer-a' | 'supplier-a' | 'the cabinet',
  ids: string[],
  write: (ids: string[]) => string,
): Act | undefined => (ids.length === 0 ? undefined : { by, xml: write(ids) });

/** An act of ours on what lies at a place of ours. */
const onThings =
  (write: (ids: string[], place: string) => string, find: Find = things): Make =>
  (chosen) => {
    const place = placeOf(chosen.step);
    return ours(some(chosen, find(chosen.world, 'own', place)), (ids) => write(ids, place));
  };
const onPacks =
  (write: (ids: string[], place: string) => string, find: Find = loose): Make =>
  (chosen) => {
    const place = placeOf(chosen.step);
    return ours(some(chosen, find(chosen.world, 'own', place), 2), (ids) => write(ids, place));
  };

const sendBack = (ids: string[], subject: string, receiver: string): string =>
  documentOf(417, {
    ...{ subject_id: subject, receiver_id: receiver, doc_num: 'B-1', doc_date: '21.11.2026', turnover_type: '2' },
    ...{ sgtin: ids.filter((id) => id.length !== 18) },
  });

const MAKE: Record<Deed, Make> = {
  pack: (chosen) => {
    const isOfSupplier = (chosen.step.picks[3] as number) < 0.3;
    if (isOfSupplier) {
      const ids = some(chosen, loose(chosen.world, 'supplier-a', SUPPLIER));
      return theirs('supplier-a', ids, (packs) => doc.unitPack(chosen.newBox(), packs, SUPPLIER));
    }
    return onPacks((ids, place) => doc.unitPack(chosen.newBox(), ids, place), loosePackable)(chosen);
  },
  append: (chosen) => {
    const place = placeOf(chosen.step);
    const box = one(chosen, boxesAt(chosen.world, 'own', place));
    const ids = some(chosen, loosePackable(chosen.world, 'own', place), 2);
    return box && ours(ids, (packs) => doc.unitAppend(box.id, packs, place));
  },
  nest: (chosen) => {
    const place = placeOf(chosen.step);
    const boxes = boxesAt(chosen.world, 'own', place).filter((box) => box.parent === null);
    const ids = some({ ...chosen, step: { ...chosen.step, isWild: false } }, boxes, 2);
    return ours(ids, (inner) => doc.unitPack(chosen.newBox(), inner, place));
  },
  extract: (chosen) => {
    const place = placeOf(chosen.step);
    const inBoxes = chosen.world.packs.filter((pack) => isThere(pack, 'own', place) && pack.sscc !== null);
    const innerBoxes = boxesAt(chosen.world, 'own', place).filter((box) => box.parent !== null);
    return ours(some(chosen, [...inBoxes, ...innerBoxes], 2), (ids) => doc.unitExtract(ids, place));
  },
  unpack: (chosen) => {
    const place = placeOf(chosen.step);
    const box = one(chosen, boxesAt(chosen.world, 'own', place));
    const recursive = (chosen.step.picks[0] as number) < 0.4;
    return box && ours([box.id], (ids) => doc.unitUnpack(ids, { subject: place, recursive }));
  },
  ship: onThings((ids, subject) => doc.moveOrder(ids, { subject })),
  'take back': (chosen) => {
    const subject = placeOf(chosen.step);
    const ids = some(chosen, underWay(chosen.world, subject, { to: CUSTOMER }));
    return ours(ids, (under) => doc.recall(under, { subject }));
  },
  accept: (chosen) => {
    const counterparty = shipperOf(chosen.step);
    const ids = some(chosen, underWay(chosen.world, counterparty, { to: HERE }));
    return ours(ids, (under) => doc.accept(under, { counterparty }));
  },
  refuse: (chosen) => {
    const shipper = shipperOf(chosen.step);
    const ids = some(chosen, underWay(chosen.world, shipper, { to: HERE }));
    return ours(ids, (under) => doc.refuse(under, { shipper }));
  },
  // Packs alone: the registry is asked what lies in a container when another side's document names it.
  claim: (chosen) => ours(some(chosen, loose(chosen.world, 'supplier-a', SUPPLIER)), (ids) => doc.receiveOrder(ids)),
  sell: onPacks((ids, place) =>
    doc.retailSale(
      ids.map((id) => ({ id })),
      place,
    ),
  ),
  'sell a part': (chosen) => {
    const place = placeOf(chosen.step);
    const partly = chosen.world.packs.filter((pack) => isThere(pack, 'own', place) && pack.part_used !== null);
    const ids = some(chosen, [...partly, ...loose(chosen.world, 'own', place)], 2);
    return ours(ids, (packs) =>
      doc.retailSale(
        packs.map((id) => ({ id, part: '2/10' })),
        place,
      ),
    );
  },
  'write off': onThings((ids, place) => doc.withdrawal(ids, place)),
  return: (chosen) => {
    const place = placeOf(chosen.step);
    const sold = chosen.world.packs.filter(
      (pack) =>
        isThere(pack, 'own', place) && ['in_sale', 'in_partial_sale', 'out_of_circulation'].includes(pack.status),
    );
    return ours(some(chosen, sold, 2), (ids) => doc.returned(ids, place));
  },
  release: onPacks((ids, place) => doc.emission(ids, place), looseMarked),
  move: onThings(
    (ids, subject) => doc.movePlace(ids, { subject, receiver: subject === HERE ? SECOND : HERE }),
    movable,
  ),
  // The registry itself finds what lies there.
  'move everything': (chosen) => {
    const place = placeOf(chosen.step);
    return ours(
      movable(chosen.world, 'own', place).map(({ id }) => id),
      () => documentOf(432, { subject_id: place, receiver_id: place === HERE ? SECOND : HERE }),
    );
  },
  correct: onPacks((ids, place) =>
    documentOf(253, { subject_id: place, details: '', series_number: `C${ids.length}`, sgtin: ids }),
  ),
  cancel: (chosen) => {
    const operation = one(chosen, chosen.operations.filter(({ docType }) => CANCELLABLE.has(docType)).slice(-3));
    if (operation === undefined) return undefined;
    const { documentId, docType } = operation;
    const values = { subject_id: HERE, operation_id: documentId, recall_action_id: String(docType) };
    return { by: 'own', xml: documentOf(250, values) };
  },
  'accept the claim': (chosen) =>
    ours(some(chosen, underWay(chosen.world, HERE, { to: CUSTOMER, order: 'reverse' })), (ids) =>
      doc.accept(ids, { subject: HERE, counterparty: CUSTOMER }),
    ),
  'send back': (chosen) => {
    const subject = placeOf(chosen.step);
    return ours(some(chosen, paused(chosen.world, 'own', subject)), (ids) => sendBack(ids, subject, CUSTOMER));
  },
  'they send back': (chosen) =>
    theirs('customer-a', some(chosen, paused(chosen.world, 'customer-a', CUSTOMER)), (ids) =>
      sendBack(ids, CUSTOMER, HERE),
    ),
  'they ship': (chosen) =>
    theirs('supplier-a', some(chosen, things(chosen.world, 'supplier-a', SUPPLIER)), (ids) =>
      doc.moveOrder(ids, { subject: SUPPLIER, receiver: HERE }),
    ),
  'they recall': (chosen) =>
    theirs('supplier-a', some(chosen, underWay(chosen.world, SUPPLIER, { to: HERE })), (ids) =>
      doc.recall(ids, { subject: SUPPLIER, receiver: HERE }),
    ),
  'they accept': (chosen) => {
    const from = placeOf(chosen.step);
    return theirs('customer-a', some(chosen, underWay(chosen.world, from, { to: CUSTOMER })), (ids) =>
      doc.accept(ids, { subject: CUSTOMER, counterparty: from }),
    );
  },
  'they refuse': (chosen) => {
    const shipper = placeOf(chosen.step);
    return theirs('customer-a', some(chosen, underWay(chosen.world, shipper, { to: CUSTOMER })), (ids) =>
      doc.refuse(ids, { subject: CUSTOMER, shipper }),
    );
  },
  'they return': (chosen) =>
    theirs('customer-a', some(chosen, things(chosen.world, 'customer-a', CUSTOMER)), (ids) =>
      doc.moveOrder(ids, { subject: CUSTOMER, receiver: HERE }),
    ),
  'they claim': (chosen) =>
    theirs('customer-a', some(chosen, things(chosen.world, 'own', HERE)), (ids) =>
      doc.receiveOrder(ids, { subject: CUSTOMER, shipper: HERE }),
    ),
  'they confirm': (chosen) =>
    theirs('supplier-a', some(chosen, underWay(chosen.world, SUPPLIER, { to: HERE, order: 'reverse' })), (ids) =>
      doc.accept(ids, { subject: SUPPLIER, counterparty: HERE }),
    ),
  'moved in the cabinet': (chosen) =>
    theirs('the cabinet', some(chosen, movable(chosen.world, 'own', HERE)), (ids) =>
      doc.movePlace(ids, { subject: HERE, receiver: SECOND }),
    ),
  suspend: (chosen) => {
    const held = new Set(chosen.world.packs.filter((pack) => pack.halt_id !== null).map(({ id }) => id));
    const sgtins = some({ ...chosen, step: { ...chosen.step, isWild: false } }, chosen.world.packs).filter(
      (id) => !held.has(id),
    );
    return sgtins.length === 0 ? undefined : { by: 'the regulator', sgtins, haltType: 'suspend' };
  },
  lift: (chosen) => {
    const held = chosen.world.packs.filter((pack) => pack.halt_id !== null);
    const sgtins = some({ ...chosen, step: { ...chosen.step, isWild: false } }, held);
    return sgtins.length === 0 ? undefined : { by: 'the regulator', sgtins, haltType: 'cancel' };
  },
};

/** What is done in a step, by a document or an order; undefined where nothing fits any of its deeds. */
export function actOf(chosen: Chosen): { deed: Deed; act: Act } | undefined {
  for (const deed of chosen.step.deeds) {
    const act = MAKE[deed](chosen);
    if (act !== undefined) return { deed, act };
  }
  return undefined;
}
