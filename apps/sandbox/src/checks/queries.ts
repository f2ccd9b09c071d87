import { isSgtin, isSscc, splitSgtin } from '#kernel';
import { zonedInstant } from '../clock/dates.js';
import type { Container, PackState } from '../packs/packs.js';
import { escape } from '../documents/receipt.js';
import { mayRead } from '../registries/pack-facts.js';
import type { Operation } from './operation.js';

const MAX_DEPTH = 10;
const tag = (name: string, value: string): string => `<${name}>${value}</${name}>`;
const envelope = (docType: number, element: string, body: string): string =>
  `<documents version="1.38"><${element} action_id="${docType}">${body}</${element}></documents>`;

/** 210, a query about one item: its answer is a 211 (public-facts 2.4). */
export function kizInfo(operation: Operation): string {
  const { fields } = operation.content;
  const sgtin = fields.get('sgtin');
  const sscc = fields.get('sscc_down') ?? fields.get('sscc_up') ?? '';
  const asked = sgtin === undefined ? tag('sscc', sscc) : tag('sgtin', sgtin);
  const answer =
    sgtin !== undefined
      ? packInfo(operation, sgtin)
      : fields.has('sscc_down')
        ? tree(operation, sscc)
        : levels(operation, sscc);
  const warning =
    answer === undefined
      ? `<operation_warnings>${tag('operation_warning', 'not found, or not open to the sender')}</operation_warnings>`
      : '';
  return envelope(
    211,
    'kiz_info',
    `<result>${tag('found', String(answer !== undefined))}${asked}</result>${warning}${answer ?? ''}`,
  );
}

/** 220, a query about a container: its answer is a 221. */
export function hierarchyInfo(operation: Operation): string {
  const unit = openUnit(operation, operation.content.fields.get('sscc') ?? '');
  if (unit === undefined) {
    return envelope(
      221,
      'hierarchy_info',
      `<operation_warnings>${tag('operation_warning', 'not found, or not open to the sender')}</operation_warnings>`,
    );
  }
  const above = operation.packs
    .unitsAbove(unit)
    .reduce((inner, one) => unitInfo(one, inner === '' ? '' : tag('childs', inner)), '');
  return envelope(
    221,
    'hierarchy_info',
    `<sscc_up>${above}</sscc_up><sscc_down>${unitTree(operation, unit, 0)}</sscc_down>`,
  );
}

function packInfo(operation: Operation, sgtin: string): string | undefined {
  const pack = isSgtin(sgtin) ? operation.packs.pack(sgtin) : undefined;
  return pack === undefined || !isOpen(operation, pack) ? undefined : kizOf(operation, sgtin, '');
}

/** A pack of a 211; in a tree it begins with its own code. */
function kizOf(operation: Operation, sgtin: string, code: string): string {
  const { status, sscc, product } = factsOf(operation, sgtin);
  return tag('sgtin', tag('info_sgtin', code + status + sscc + product) + decisionOf(operation, sgtin, IN_211));
}

/** What both answers say of a pack, each in its own order. */
function factsOf({ packs, world }: Operation, sgtin: string): Record<'status' | 'sscc' | 'product', string> {
  const { status, sscc, expires = world.standing.expirationDate } = packs.pack(sgtin) as PackState;
  return {
    status: tag('status', status),
    sscc: sscc === undefined ? '' : tag('sscc', sscc),
    product:
      tag('gtin', splitSgtin(sgtin).gtin) +
      tag('series_number', escape(packs.seriesOf(sgtin) ?? '')) +
      tag('expiration_date', expires),
  };
}

/** What a decision that suspends a pack is called: the element, its id, its number and its day. */
const IN_211 = ['info_decision', 'id_decision', 'doc_num', 'doc_date'] as const;
const IN_221 = ['pause_decision_info', 'id', 'number', 'date'] as const;

function decisionOf(
  { packs }: Operation,
  sgtin: string,
  [element, id, number, date]: typeof IN_211 | typeof IN_221,
): string {
  const decision = packs.suspensionOf(sgtin);
  if (decision === undefined) return '';
  const day = new Date(decision.docDateMs).toISOString().slice(0, 10).split('-').reverse().join('.');
  return tag(element, tag(id, decision.haltId) + tag(number, escape(decision.docNum)) + tag(date, day));
}

function tree(operation: Operation, sscc: string): string | undefined {
  const unit = openUnit(operation, sscc);
  const content = unit === undefined ? undefined : operation.packs.contentOf(unit);
  if (content === undefined) return undefined;
  const row = (item: string, parent: string | undefined): string =>
    tag('tree', item + (parent === undefined ? '' : tag('parent_sscc', parent)));
  const packs = content.sgtins.map((sgtin) =>
    row(kizOf(operation, sgtin, tag('sgtin', sgtin)), operation.packs.pack(sgtin)?.sscc),
  );
  const units = content.containers.map((one) => row(tag('sscc', one.sscc), one.sscc === sscc ? undefined : one.parent));
  return `<sscc_down>${units.join('')}${packs.join('')}</sscc_down>`;
}

/** The unit itself is level 0. */
function levels(operation: Operation, sscc: string): string | undefined {
  const unit = openUnit(operation, sscc);
  if (unit === undefined) return undefined;
  const rows = operation.packs
    .unitsAbove(unit)
    .map((one, level) => `<info>${tag('sscc', one.sscc)}${tag('level', String(level))}</info>`);
  return `<sscc_up>${rows.join('')}</sscc_up>`;
}

function unitTree(operation: Operation, unit: Container, depth: number): string {
  const packs = [...unit.packs].map((sgtin) => sgtinInfo(operation, sgtin));
  const inner =
    depth >= MAX_DEPTH
      ? []
      : [...unit.containers].map((sscc) => operation.packs.container(sscc)).filter((one) => one !== undefined);
  const units = inner.map((one) => unitTree(operation, one, depth + 1));
  return unitInfo(unit, tag('childs', packs.join('') + units.join('')));
}

/** A pack of a 221. */
function sgtinInfo(operation: Operation, sgtin: string): string {
  const { status, sscc, product } = factsOf(operation, sgtin);
  return tag('sgtin_info', tag('sgtin', sgtin) + sscc + status + product + decisionOf(operation, sgtin, IN_221));
}

const unitInfo = ({ sscc, packedAtMs = 0 }: Container, childs: string): string =>
  tag('sscc_info', tag('sscc', sscc) + tag('packing_date', zonedInstant(packedAtMs, '+03:00', 180)) + childs);

/** A unit travels whole: it is open to its owner, and to whom its packs are. */
function openUnit(operation: Operation, sscc: string): Container | undefined {
  const { packs, sender } = operation;
  const unit = isSscc(sscc) ? packs.container(sscc) : undefined;
  if (unit === undefined || unit.owner === sender.key) return unit;
  const [sgtin] = packs.contentOf(unit)?.sgtins ?? [];
  const pack = sgtin === undefined ? undefined : packs.pack(sgtin);
  return pack !== undefined && isOpen(operation, pack) ? unit : undefined;
}

/** What the registries show him, he is answered too. */
const isOpen = ({ sender, world }: Operation, pack: PackState): boolean => mayRead(world, sender, pack);
