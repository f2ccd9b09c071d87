import type { ContainerContent, PackState, PackSummary } from '#read-models';
import { PLACES } from '../../../apps/sandbox/test/documents.js';
import type { PackTruth, UnitTruth, World } from './truth.js';

const OWNERS: Record<string, string> = {
  [PLACES.warehouse]: 'own',
  [PLACES.second]: 'own',
  [PLACES.supplier]: 'supplier-a',
  [PLACES.customer]: 'customer-a',
};

/** What both sides say of a pack, in the words of the registry. */
interface Said {
  status: string | null;
  place: string | null;
  owner: string | null;
  container: string | null;
  transfer: string | null;
  series: string | null;
  left: string | null;
}

const transferText = (transfer: { from: string; to: string; order: string } | null | undefined): string | null =>
  transfer ? `${transfer.from} to ${transfer.to}, ${transfer.order}` : null;

/** A place says where a pack is or goes. */
function saidByRegistry(pack: PackTruth): Said {
  return {
    status: pack.status,
    place: pack.transfer?.to ?? pack.place,
    owner: pack.owner,
    container: pack.sscc,
    transfer: transferText(pack.transfer),
    series: pack.series,
    left: leftOf(pack),
  };
}

const USED_UP: ReadonlySet<string> = new Set(['in_sale', 'out_of_circulation', 'ooc_part_sale']);

/** The registry counts what was used, the product what is left. */
function leftOf({ part_used: used, status }: PackTruth): string | null {
  if (used === null) return USED_UP.has(status) ? '0' : null;
  const [count = 0, all = 1] = used.split('/').map(Number);
  const divisor = Array.from({ length: all }, (_, n) => all - n).find(
    (one) => all % one === 0 && (all - count) % one === 0,
  ) as number;
  return `${(all - count) / divisor}/${all / divisor}`;
}

const valueOf = (fact: { value: string } | undefined): string | null => fact?.value ?? null;

function saidByProduct(state: PackState): Said {
  const owner = valueOf(state.owner);
  return {
    status: valueOf(state.status),
    place: valueOf(state.place),
    owner: OWNERS[owner ?? ''] ?? owner,
    container: valueOf(state.container),
    transfer: transferText(state.transfer),
    series: valueOf(state.series),
    left: valueOf(state.partLeft),
  };
}

const PAUSED = 'paused_circulation';
const RETURNING = 'confirm_return_paused';

/**
 * No document tells a decision of the regulator: the product has the status in which the decision stopped the pack,
 * and a pack that came back suspended (417) is so still when the decision has ended.
 */
function isSameStatus(pack: PackTruth, told: string | null, wasFreed: boolean): boolean {
  if (pack.status === told) return true;
  if (pack.paused_from !== null && pack.status === PAUSED) return told === pack.paused_from;
  return wasFreed && (told === PAUSED || told === RETURNING);
}

/** Ours, or on its way to us: then documents have told all of it. */
const concernsUs = ({ owner, transfer }: PackTruth): boolean => owner === 'own' || OWNERS[transfer?.to ?? ''] === 'own';

/** What a supplier packs at his place he tells nobody. */
const isContainerTold = (pack: PackTruth): boolean => concernsUs(pack) || pack.owner === 'customer-a';

/** Where the product differs from the registry; `wasFreed`: a decision of suspension about the pack had ended. */
export function differences(pack: PackTruth, state: PackState | undefined, wasFreed: boolean): string[] {
  if (state === undefined || state.status === undefined)
    return concernsUs(pack) ? ['the product does not know it'] : [];
  const [truth, told] = [saidByRegistry(pack), saidByProduct(state)];
  const isAlike: Partial<Record<keyof Said, boolean>> = {
    status: isSameStatus(pack, told.status, wasFreed),
    container: truth.container === told.container || !isContainerTold(pack),
    // A shipment names no series of packs that lie in no container.
    series: truth.series === told.series || (told.series === null && pack.id.includes('SUP')),
  };
  return (Object.keys(truth) as (keyof Said)[])
    .filter((name) => !(isAlike[name] ?? truth[name] === told[name]))
    .map((name) => `${name}: registry ${truth[name]}, product ${told[name]}`);
}

/** Where the state of many packs differs from that of one. */
export const bulkDifferences = (state: PackState | undefined, among: PackSummary | undefined): string[] =>
  (['status', 'place', 'container', 'series'] as const)
    .filter((name) => state?.[name]?.value !== among?.[name])
    .map((name) => `${name}: alone ${state?.[name]?.value}, among many ${among?.[name]}`);

/** Where the content of a container, however deep, differs from what the registry has in it. */
export function contentDifferences(
  { packs, inside }: World,
  box: UnitTruth,
  content: Pick<ContainerContent, 'items'> | undefined,
): string[] {
  const truth = new Map(inside(box).map(({ id, sscc }) => [id, sscc]));
  const told = new Map(content?.items.map(({ item, container }) => [item, container]));
  return packs
    .filter((pack) => isContainerTold(pack) && (truth.get(pack.id) ?? null) !== (told.get(pack.id) ?? null))
    .map(({ id }) => `${id}: registry ${truth.get(id) ?? 'not in it'}, product ${told.get(id) ?? 'not in it'}`);
}
