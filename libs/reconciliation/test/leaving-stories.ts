import { notHere, old, recent, shipped, type Story } from './story.js';

const sentBack = { ...shipped, status: 'confirm_return_paused' };

/** By 541, and 542 has not told yet that it was destroyed. */
const handedOver = { status: 'moved_for_disposal' };

/** Planted stories of packs that documents have sent back to the supplier as suspended, or off to be destroyed. */
export const LEAVING_AND_HERE: readonly Story[] = [
  {
    name: 'suspended, sent back by documents, and for sale here',
    finds: ['suspended_in_stock', 'critical', 'series'],
    ...{ record: sentBack, registry: { status: sentBack.status, moved_at: recent }, explained: ['in_transit'] },
  },
  {
    name: 'suspended, sent back by documents, and in quarantine here',
    finds: ['suspended_in_stock', 'information', 'series'],
    ...{ stock: { state: 'quarantine' }, record: sentBack, explained: ['in_transit'] },
    registry: { status: sentBack.status, moved_at: recent },
  },
  {
    name: 'suspended, sent back by our record, for sale here, and not asked at the registry',
    finds: ['suspended_in_stock', 'critical', 'series'],
    ...{ record: sentBack, registry: null, explained: ['registry_not_asked'] },
  },
  {
    name: 'handed over to be destroyed, and for sale here',
    finds: ['status_mismatch', 'critical', 'series'],
    ...{ record: handedOver, registry: handedOver },
  },
];

export const LEAVING: readonly Story[] = [
  {
    name: 'suspended, and on its way back to the supplier',
    ...{ ...notHere, record: sentBack, explained: ['in_transit'] },
    registry: { status: sentBack.status, moved_at: recent },
  },
  {
    name: 'handed over to be destroyed',
    ...{ ...notHere, record: handedOver, registry: { ...handedOver, moved_at: old } },
  },
];
