import type { PackState } from '#read-models';
import { PLACES } from '../../../apps/sandbox/test/documents.js';
import type { PackTruth } from './truth.js';

const OWNERS: Record<string, string> = {
  [PLACES.warehouse]: 'own',
  [PLACES.second]: 'own',
  [PLACES.supplier]: 'supplier-a',
  [PLACES.customer]: 'customer-a',
};

/** What both sides say of a pack, in the words of the registry. */
export interface Said {
  status: string | null;
  place: string | null;
  owner: string | null;
  container: string | null;
  transfer: string | null;
  series: string | null;
  used: string | null;
}

const transferText = (transfer: { from: string; to: string; order: string } | null | undefined): string | null =>
  transfer ? `${transfer.from} to ${transfer.to}, ${transfer.order}` : null;

export function saidByRegistry(pack: PackTruth): Said {
  return {
    status: pack.status,
    place: pack.transfer?.to ?? pack.place,
    owner: pack.owner,
    container: pack.sscc,
    transfer: transferText(pack.transfer),
    series: pack.series,
    used: pack.part_used,
  };
}

export function saidByProduct(state: PackState): Said {
  const owner = state.owner?.value;
  return {
    status: state.status?.value ?? null,
    place: state.place?.value ?? null,
    owner: owner === undefined ? null : (OWNERS[owner] ?? owner),
    container: state.container?.value ?? null,
    transfer: transferText(state.transfer),
    series: state.series?.value ?? null,
    used: state.partLeft?.value ?? null,
  };
}
