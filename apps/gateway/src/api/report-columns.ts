import type { z } from 'zod';
import type {
  expiringPacksShape,
  mockRecallDetail,
  mockRecallPage,
  overdueTransfersShape,
  overridesShape,
  suspensionReply,
  unmovedPacksShape,
} from '#read-models';
import { columnsOf, columnsWithin, type Columns } from './columns.js';

/** Each row of a report says as of when, and up to which log position, it speaks. */

type Shelf = z.infer<typeof unmovedPacksShape>['items'][number];
type ExpiringPacks = z.infer<typeof expiringPacksShape>;
type Transfer = z.infer<typeof overdueTransfersShape>['items'][number];
type Override = z.infer<typeof overridesShape>['items'][number];
type Recall = z.infer<typeof mockRecallPage>['items'][number];
type RecallDetail = z.infer<typeof mockRecallDetail>;
type Reply = z.infer<typeof suspensionReply>;

const SHELF = [
  ...([
    'place',
    'gtin',
    'series',
    'expires_on',
    'status',
    'sgtin',
    'packs',
    'first_moved_at',
    'last_moved_at',
  ] as const),
  ...(['as_of', 'known_at'] as const),
];
export const UNMOVED: Columns<Shelf> = columnsOf<Shelf>(...SHELF);

type ExpiringRow = Partial<ExpiringPacks['items'][number]> & { expiry_unknown: number };

/**
 * A row a line, each with the packs of the whole report of which nobody knows when they expire. They are in no line:
 * where there is none, a row without a place says so, for a file without a row would say that nothing expires.
 */
export const EXPIRING = {
  rows: ({ items, as_of, known_at, expiry_unknown }: ExpiringPacks): ExpiringRow[] => {
    const none = expiry_unknown === 0 ? [] : [{ packs: 0, as_of, known_at }];
    return (items.length === 0 ? none : items).map((line) => ({ ...line, expiry_unknown }));
  },
  columns: columnsOf<ExpiringRow>(...SHELF, 'expired', 'expiry_unknown'),
};

export const TRANSFERS: Columns<Transfer> = {
  ...columnsOf<Transfer>('direction', 'from', 'to', 'awaits', 'packs', 'containers', 'since', 'days'),
  ...columnsWithin(
    'told_by',
    ({ told_by }: Transfer) => told_by,
    columnsOf<Transfer['told_by']>(
      ...(['known_at', 'doc_type', 'request_id', 'document_id', 'accepted_at', 'document_sha256'] as const),
    ),
  ),
  ...columnsOf<Transfer>('as_of', 'known_at'),
};

export const OVERRIDE_COLUMNS: Columns<Override> = {
  ...columnsOf<Override>('position', 'at', 'kind', 'type'),
  actor: ({ actor }) => actor.name,
  actor_kind: ({ actor }) => actor.kind,
  authenticated_by: ({ actor }) => actor.authenticated_by,
  reason: ({ reason }) => reason,
  objects: ({ objects }) => objects.join(' '),
  details: ({ details }) => JSON.stringify(details),
  ...columnsOf<Override>('stream', 'version', 'as_of', 'known_at'),
};

const packsOf = <T extends Pick<Recall, 'packs'>>(): Columns<T> =>
  columnsWithin(
    'packs',
    ({ packs }: T) => packs,
    columnsOf<NonNullable<Recall['packs']>>('in_stock', 'in_transit', 'shipped', 'gone', 'unknown'),
  );

export const RECALLS: Columns<Recall> = {
  ...columnsOf<Recall>('recall_id', 'gtin', 'series', 'state', 'reason', 'begun_at', 'traced_at', 'took_ms'),
  actor: ({ actor }) => actor.name,
  ...columnsOf<Recall>('waited_ms', 'counted_ms', 'is_complete', 'known_at', 'series_unknown', 'places'),
  ...packsOf<Recall>(),
  ...columnsOf<Recall>('content_sha256', 'containers_unknown'),
};

type RecallLine = NonNullable<RecallDetail['lines']>[number];
type RecallRow = Partial<RecallLine> & Omit<RecallDetail, 'lines' | 'packs' | 'places'> & { gone?: number | undefined };

/**
 * A row a branch and place, each with how long it took, and what of the whole is gone or unknown. Where no place has a
 * pack, or none is known yet, a row without a place says so, for a file without a row would say that all is well.
 */
export const RECALL = {
  rows: ({ lines = [], packs, places: _places, ...recall }: RecallDetail): RecallRow[] => {
    const none = packs === undefined ? {} : { packs: 0 };
    return (lines.length === 0 ? [none] : lines).map((line) => ({ ...recall, gone: packs?.gone, ...line }));
  },
  columns: columnsOf<RecallRow>(
    ...(['standing', 'branch', 'place', 'packs', 'newest_at', 'recall_id', 'gtin', 'series'] as const),
    ...(['begun_at', 'traced_at', 'took_ms', 'is_complete', 'known_at', 'content_sha256'] as const),
    ...(['state', 'gone', 'series_unknown', 'containers_unknown'] as const),
  ),
};

type ReplyRow = Omit<
  Reply,
  'matches' | 'places' | 'look_alikes' | 'totals' | 'record' | 'series_unknown' | 'replied_by'
> &
  Reply['places'][number] & { replied_by: string; means: string; series_unknown: number };

/** A row a place. Packs of an unknown series are counted for the whole reply: it is not told where they lay. */
export const REPLY = {
  rows: ({ places, matches, look_alikes: _alike, totals: _totals, record: _record, ...reply }: Reply): ReplyRow[] =>
    places.map((place) => ({
      ...reply,
      replied_by: reply.replied_by.name,
      means: matches.map(({ gtin, series }) => `${gtin}=${series}`).join(' '),
      series_unknown: reply.series_unknown.reduce((sum, { packs }) => sum + packs, 0),
      ...place,
    })),
  columns: columnsOf<ReplyRow>(
    ...(['place', 'found', 'quarantined', 'shipped', 'returned', 'suspension_id', 'number', 'date', 'from'] as const),
    ...(['product', 'series', 'means', 'action', 'version', 'is_newest', 'nothing_found', 'series_unknown'] as const),
    ...(['replied_at', 'replied_by', 'reason', 'position', 'as_of'] as const),
  ),
};
