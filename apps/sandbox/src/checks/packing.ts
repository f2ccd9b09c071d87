import { isSgtin, isSscc } from '#kernel';
import type { DocumentItem, DocumentRow } from '../documents/document.js';
import type { Container, PackState } from '../packs/packs.js';
import { disposable, type Operation, type OperationRule } from './operation.js';
import { because, type Reason } from './reasons.js';

const PACKABLE = ['in_circulation', 'marked'] as const;
const MAX_LEVELS = 10;

/** Who speaks by his system id speaks for the place where the goods lie. */
function atGoods(operation: Operation): Operation {
  const { sender, place, content, packs } = operation;
  const [first] = content.items;
  if (place !== sender.systemId || first === undefined) return operation;
  const goods = first.kind === 'sgtin' ? packs.pack(first.id) : packs.container(first.id);
  return { ...operation, place: goods?.place ?? place };
}

/**
 * 911: a new logistic unit. All or nothing: the document states the complete content of one box, and a box whose record
 * lacks a pack that lies in it would be worse than none.
 */
export const unitPack: OperationRule = {
  document({ content, packs, books, sender }) {
    const sscc = content.ssccs[0] ?? '';
    if (!isSscc(sscc)) return because('malformed_item', sscc);
    if (packs.container(sscc) !== undefined) return because('container_in_use', sscc);
    if ((books.reservedSsccs.get(sscc) ?? sender.key) !== sender.key) return because('sscc_reserved', sscc);
    return content.items.length === 0 ? because('no_items') : undefined;
  },
  whole(spoken) {
    const operation = atGoods(spoken);
    const { content, packs, sender, place } = operation;
    const seen = new Set<string>();
    const errors: { reason: Reason; objectId: string }[] = [];
    for (const item of content.items) {
      const reason = seen.has(item.id)
        ? because('inside_container', 'it is named twice')
        : whyNotPackable(operation, item, MAX_LEVELS - 1);
      seen.add(item.id);
      if (reason !== undefined) errors.push({ reason, objectId: item.id });
    }
    if (errors.length > 0) return errors;
    const sscc = content.ssccs[0] as string;
    const unit: Container = {
      sscc,
      owner: sender.key,
      place,
      parent: undefined,
      packs: new Set(),
      containers: new Set(),
      unpacked: false,
    };
    packs.addContainer(unit);
    const states = new Map<PackState, PackState>();
    for (const item of content.items) putInto(operation, unit, { item, states });
    return [];
  },
};

/** 914: more into a unit that exists; item by item. */
export const unitAppend: OperationRule = {
  document(operation) {
    const sscc = operation.content.ssccs[0] ?? '';
    return whyNotOurs(operation, sscc);
  },
  item(operation, item) {
    const unit = operation.packs.container(operation.content.ssccs[0] as string) as Container;
    const levels = levelsAbove(operation, unit);
    if (item.kind === 'sscc' && isWithin(operation, unit, item.id)) return because('container_nesting');
    const reason = whyNotPackable(operation, item, MAX_LEVELS - 1 - levels);
    if (reason === undefined) putInto(operation, unit, { item, states: new Map() });
    return reason;
  },
};

/** The same document, as if it were about the unit of one row alone. */
const ofRow = (operation: Operation, { fields, items }: DocumentRow): Operation => ({
  ...operation,
  content: { ...operation.content, ssccs: [fields.get('sscc') ?? ''], items },
});

/** 915: many new units, each all or nothing. */
export const multiPack: OperationRule = {
  isRowWhole: true,
  row(operation, row) {
    const one = ofRow(operation, row);
    const against = unitPack.document?.(one);
    const objectId = one.content.ssccs[0] as string;
    return against === undefined ? (unitPack.whole?.(one) ?? []) : [{ reason: against, objectId }];
  },
};

/** 916: more into many units, item by item. */
export const multiUnitAppend: OperationRule = {
  row(operation, row) {
    const one = ofRow(operation, row);
    const against = unitAppend.document?.(one);
    if (against !== undefined) return [{ reason: against, objectId: one.content.ssccs[0] as string }];
    return row.items.flatMap((item) => {
      const reason = unitAppend.item?.(one, item);
      return reason === undefined ? [] : [{ reason, objectId: item.id }];
    });
  },
};

/** 912: units are taken apart, each by itself; with is_recursive the units in them too. */
export const unitUnpack: OperationRule = {
  item(operation, item) {
    const reason = whyNotOurs(operation, item.id);
    if (reason !== undefined) return reason;
    const unit = operation.packs.container(item.id) as Container;
    operation.packs.takeOutContainer(unit);
    unpack(operation, unit, ['true', '1'].includes(operation.content.fields.get('is_recursive') ?? ''));
    return undefined;
  },
};

/** Takes apart a unit, with the units in it. */
export function dissolve(operation: Operation, sscc: string): void {
  const unit = operation.packs.container(sscc);
  if (unit !== undefined) unpack(operation, unit, true);
}

/** 913: items leave the unit that holds them. */
export const unitExtract: OperationRule = {
  item(operation, item) {
    const { packs } = operation;
    if (item.kind === 'sgtin') {
      const pack = isSgtin(item.id) ? packs.pack(item.id) : undefined;
      if (pack === undefined) return because('pack_not_found');
      const reason = disposable(pack, operation, [...PACKABLE, 'paused_circulation', 'expired']);
      if (reason !== undefined) return reason;
      if (pack.sscc === undefined) return because('not_in_container');
      packs.takeOutPack(item.id);
      return undefined;
    }
    const reason = whyNotOurs(operation, item.id);
    if (reason !== undefined) return reason;
    const unit = packs.container(item.id) as Container;
    if (unit.parent === undefined) return because('not_in_container');
    packs.takeOutContainer(unit);
    return undefined;
  },
};

function putInto(
  { packs }: Operation,
  unit: Container,
  { item, states }: { item: DocumentItem; states: Map<PackState, PackState> },
): void {
  if (item.kind === 'sscc') {
    unit.containers.add(item.id);
    (packs.container(item.id) as Container).parent = unit.sscc;
    return;
  }
  const before = packs.pack(item.id) as PackState;
  let after = states.get(before);
  if (after === undefined) states.set(before, (after = { ...before, sscc: unit.sscc }));
  packs.setPack(item.id, after);
  // The set's own copy of the key is the one in the store.
  unit.packs.add(Buffer.from(item.id, 'latin1').toString('latin1'));
}

function unpack(operation: Operation, unit: Container, recursive: boolean): void {
  const { packs } = operation;
  const states = new Map<PackState, PackState>();
  for (const sgtin of unit.packs) {
    const before = packs.pack(sgtin) as PackState;
    let after = states.get(before);
    if (after === undefined) states.set(before, (after = { ...before, sscc: undefined }));
    packs.setPack(sgtin, after);
  }
  for (const sscc of unit.containers) {
    const inner = packs.container(sscc) as Container;
    inner.parent = undefined;
    if (recursive) unpack(operation, inner, true);
  }
  unit.packs.clear();
  unit.containers.clear();
  unit.unpacked = true;
}

/** `levels`: how many levels of units the item may hold. */
function whyNotPackable(operation: Operation, item: DocumentItem, levels: number): Reason | undefined {
  if (item.kind === 'sgtin') {
    const pack = isSgtin(item.id) ? operation.packs.pack(item.id) : undefined;
    if (pack === undefined) return because('pack_not_found');
    return (
      disposable(pack, operation, PACKABLE) ??
      (pack.sscc === undefined ? undefined : because('inside_container', pack.sscc))
    );
  }
  const reason = whyNotOurs(operation, item.id);
  if (reason !== undefined) return reason;
  const unit = operation.packs.container(item.id) as Container;
  if (unit.parent !== undefined) return because('inside_container', unit.parent);
  return levelsOf(operation, unit) > levels ? because('container_nesting') : undefined;
}

/** A unit that is whole, at this place, and all of it ours to dispose of. */
function whyNotOurs(operation: Operation, sscc: string): Reason | undefined {
  const { packs } = operation;
  const unit = packs.container(sscc);
  if (unit === undefined) return because('container_not_found');
  if (unit.unpacked) return because('container_unpacked');
  if (unit.owner !== operation.sender.key) return because('not_owner');
  const content = packs.contentOf(unit);
  if (content === undefined) return because('container_nesting');
  for (const sgtin of content.sgtins) {
    const reason = disposable(packs.pack(sgtin) as PackState, operation, [
      ...PACKABLE,
      'paused_circulation',
      'expired',
    ]);
    if (reason !== undefined)
      return because(reason.name, reason.detail === undefined ? sgtin : `${reason.detail}, ${sgtin}`);
  }
  return unit.place === operation.place || operation.place === operation.sender.systemId
    ? undefined
    : because('wrong_place', `it is at ${unit.place}`);
}

function levelsOf({ packs }: Operation, unit: Container, depth = 1): number {
  if (depth > MAX_LEVELS) return depth;
  let most = depth;
  for (const sscc of unit.containers)
    most = Math.max(most, levelsOf({ packs } as Operation, packs.container(sscc) as Container, depth + 1));
  return most;
}

function levelsAbove({ packs }: Operation, unit: Container): number {
  let levels = 0;
  for (let at: Container | undefined = unit; at?.parent !== undefined && levels <= MAX_LEVELS; levels += 1)
    at = packs.container(at.parent);
  return levels;
}

/** Whether `unit` is `sscc` or lies inside it. */
function isWithin({ packs }: Operation, unit: Container, sscc: string): boolean {
  let at: Container | undefined = unit;
  for (let level = 0; at !== undefined && level <= MAX_LEVELS; level += 1) {
    if (at.sscc === sscc) return true;
    at = at.parent === undefined ? undefined : packs.container(at.parent);
  }
  return false;
}
