import { notHere, type Story } from './story.js';

/** Planted stories of packs of which our record has learnt something since the other sides were made. */
export const LATE_STORIES: readonly Story[] = [
  {
    name: 'received by a document since the count, and not asked at the registry',
    finds: ['moved_during_run', 'information', 'series'],
    ...{ ...notHere, registry: null, learntLate: true, explained: ['registry_not_asked'] },
  },
  {
    name: 'sold by a document since the registry has answered',
    finds: ['stale_snapshot', 'information', 'series'],
    ...{ ...notHere, record: { status: 'in_sale' }, learntLate: true },
  },
  {
    name: 'returned by a document since the registry has answered',
    finds: ['stale_snapshot', 'information', 'series'],
    ...{ registry: { status: 'in_sale' }, learntLate: true },
  },
  {
    name: 'sold by a document since the registry has answered that it is sold, and on the shelf',
    finds: ['sold_in_registry_in_stock_here', 'critical', 'series'],
    ...{ record: { status: 'in_sale' }, registry: { status: 'in_sale' }, learntLate: true },
  },
  {
    name: 'withdrawn, on the shelf, and moved by a document since the registry has answered',
    finds: ['status_mismatch', 'critical', 'series'],
    ...{ registry: { status: 'disposed' }, learntLate: true },
  },
  {
    name: 'withdrawn, not in stock, and moved by a document since the registry has answered',
    finds: ['stale_snapshot', 'information', 'series'],
    ...{ ...notHere, registry: { status: 'disposed' }, learntLate: true },
  },
  {
    name: 'suspended, for sale, and moved by a document since the registry has answered',
    finds: ['suspended_in_stock', 'critical', 'series'],
    ...{ registry: { status: 'paused_circulation' }, learntLate: true },
  },
];
