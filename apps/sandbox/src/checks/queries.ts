import { isSgtin, isSscc, splitSgtin } from '#kernel';
import { zonedInstant } from '../clock/dates.js';
import type { Container, PackState } from '../packs/packs.js';
import type { Operation } from './operation.js';

const MAX_DEPTH = 10;
const leaf = (name: string, value: string): string => `<${name}>${value}</${name}>`;
const envelope = (docType: number, element: string, body: string): string =>
  `<documents version="1.38"><${element} action_id="${docType}">${body}</${element}></documents>`;

/**
 * 210, a query about one item: its answer is a 211 (public-facts 2.4). The rows of a tree are the sandbox's own, for
 * they are not public.
 */
export function kizInfo(operation: Operation): string {
  const { fields } = operation.content;
  const sgtin = fields.get('sgtin');
  const sscc = fields.get('sscc_down') ?? fields.get('sscc_up') ?? '';
  const asked = sgtin === undefined ? leaf('sscc', sscc) : leaf('sgtin', sgtin);
  const answer =
    sgtin !== undefined
      ? packInfo(operation, sgtin)
      : fields.has('sscc_down')
        ? tree(operation, sscc)
        : levels(operation, sscc);
  const warning =
    answer === undefined
      ? `<operation_warnings>${leaf('operation_warning', 'not found, or not open to the sender')}</operation_warnings>`
      : '';
  return envelope(
    211,
    'kiz_info',
    `<result>${leaf('found', String(answer !== undefined))}${asked}</result>${warning}${answer ?? ''}`,
  );
}

/** 220, a query about a container: its answer is a 221. */
export function hierarchyInfo(operation: Operation): string {
  const unit = openUnit(operation, operation.content.fields.get('sscc') ?? '');
  if (unit === undefined) {
    return envelope(
      221,
      'hierarchy_info',
      `<operation_warnings>${leaf('operation_warning', 'not found, or not open to the sender')}</operation_warnings>`,
    );
  }
  const above = unitsAbove(operation, unit).map((one) => `<sscc_info>${unitHead(one)}</sscc_info>`);
  return envelope(
    221,
    'hierarchy_info',
    `<sscc_up>${above.join('')}</sscc_up><sscc_down>${unitTree(operation, unit, 0)}</sscc_down>`,
  );
}

function packInfo(operation: Operation, sgtin: string): string | undefined {
  const pack = isSgtin(sgtin) ? operation.packs.pack(sgtin) : undefined;
  return pack === undefined || !isOpen(operation, pack)
    ? undefined
    : `<sgtin>${infoOf(operation, sgtin, pack)}</sgtin>`;
}

function infoOf({ packs, world }: Operation, sgtin: string, pack: PackState): string {
  const { gtin } = splitSgtin(sgtin);
  const sscc = pack.sscc === undefined ? '' : leaf('sscc', pack.sscc);
  const series = leaf('series_number', packs.seriesOf(sgtin) ?? '');
  return (
    `<info_sgtin>${leaf('status', pack.status)}${sscc}${leaf('gtin', gtin)}${series}` +
    `${leaf('expiration_date', world.standing.expirationDate)}</info_sgtin>`
  );
}

function tree(operation: Operation, sscc: string): string | undefined {
  const unit = openUnit(operation, sscc);
  const content = unit === undefined ? undefined : operation.packs.contentOf(unit);
  if (content === undefined) return undefined;
  const packs = content.sgtins.map(
    (sgtin) =>
      `<tree>${leaf('sgtin', sgtin)}${infoOf(operation, sgtin, operation.packs.pack(sgtin) as PackState)}</tree>`,
  );
  const units = content.containers.map((one) => `<tree>${leaf('sscc', one.sscc)}</tree>`);
  return `<sscc_down>${units.join('')}${packs.join('')}</sscc_down>`;
}

/** The unit itself is level 0. */
function levels(operation: Operation, sscc: string): string | undefined {
  const unit = openUnit(operation, sscc);
  if (unit === undefined) return undefined;
  const rows = unitsAbove(operation, unit).map(
    (one, level) => `<info>${leaf('sscc', one.sscc)}${leaf('level', String(level))}</info>`,
  );
  return `<sscc_up>${rows.join('')}</sscc_up>`;
}

/** The unit and what holds it, from the inside to the outside. */
function unitsAbove({ packs }: Operation, unit: Container): Container[] {
  const units = [unit];
  for (let at = unit; at.parent !== undefined && units.length <= MAX_DEPTH;) {
    const parent = packs.container(at.parent);
    if (parent === undefined) break;
    units.push((at = parent));
  }
  return units;
}

function unitTree(operation: Operation, unit: Container, depth: number): string {
  const packs = [...unit.packs].map(
    (sgtin) =>
      `<sgtin_info>${leaf('sgtin', sgtin)}${infoOf(operation, sgtin, operation.packs.pack(sgtin) as PackState)}` +
      '</sgtin_info>',
  );
  const inner =
    depth >= MAX_DEPTH
      ? []
      : [...unit.containers].map((sscc) => operation.packs.container(sscc)).filter((one) => one !== undefined);
  return (
    `<sscc_info>${unitHead(unit)}<childs>${packs.join('')}` +
    `${inner.map((one) => unitTree(operation, one, depth + 1)).join('')}</childs></sscc_info>`
  );
}

const unitHead = (unit: Container): string => {
  const packed =
    unit.packedAtMs === undefined ? '' : leaf('packing_date', zonedInstant(unit.packedAtMs, '+03:00', 180));
  return leaf('sscc', unit.sscc) + packed;
};

function openUnit({ packs, sender }: Operation, sscc: string): Container | undefined {
  const unit = isSscc(sscc) ? packs.container(sscc) : undefined;
  return unit !== undefined && unit.owner === sender.key ? unit : undefined;
}

/** A pack is open to its owner and to whom it is on its way. */
function isOpen({ sender, world }: Operation, pack: PackState): boolean {
  return (
    pack.owner === sender.key ||
    (pack.transfer !== undefined && world.participantAt(pack.transfer.to)?.key === sender.key)
  );
}
