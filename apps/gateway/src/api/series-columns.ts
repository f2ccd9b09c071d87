import type { z } from 'zod';
import type { seriesFile, seriesSourcePage } from '#read-models';
import { columnsOf, columnsWithin, type Columns } from './columns.js';
import { givenCursor } from './list-cursor.js';
import type { Page } from './ndjson.js';
import { TOLD, type Told } from './pack-columns.js';

type Series = z.infer<typeof seriesFile>;
type SourcePage = z.infer<typeof seriesSourcePage>;
type Source = SourcePage['items'][number];

interface SeriesRow {
  part: 'received' | 'fate' | 'customer to notify';
  packs: number;
  fate?: string | undefined;
  status?: string | undefined;
  place?: string | undefined;
  branch?: string | undefined;
  packs_at?: string | undefined;
  /** Of the whole file, as what suspends the series. */
  known_at: string;
  suspended_by?: string | undefined;
  told_by?: Told | undefined;
}

/** The file of a series as one table. `packs` of the parts `received` and `fate` each make up the whole. */
export const SERIES: Columns<SeriesRow> = {
  ...columnsOf<SeriesRow>('part', 'fate', 'status', 'place', 'branch', 'packs', 'packs_at', 'known_at'),
  ...columnsOf<SeriesRow>('suspended_by'),
  ...columnsWithin('told_by', ({ told_by }: SeriesRow) => told_by, TOLD),
};

/** The documents by which packs of a series came. */
export const SERIES_SOURCES: Columns<Source> = {
  ...columnsOf<Source>('packs'),
  ...columnsWithin('told_by', ({ by }: Source) => by, TOLD),
};

/** All rows of a file whose first sources are known: the other sources page by page, then what became of the packs. */
export function seriesRows(
  file: Series,
  sourcesAfter: (cursor: string) => Promise<SourcePage>,
): (cursor?: string) => Promise<Page<SeriesRow>> {
  const next_cursor = cursorIn(file.received_more_at);
  return async (cursor) => {
    const page = cursor === undefined ? { items: file.received, next_cursor } : await sourcesAfter(cursor);
    const whole = ofWhole(file);
    const received = page.items.map(({ packs, by }): SeriesRow => ({ part: 'received', packs, ...whole, told_by: by }));
    return page.next_cursor === undefined
      ? { items: [...received, ...fateRows(file)] }
      : { items: received, next_cursor: page.next_cursor };
  };
}

const cursorIn = (address: string | undefined): string | undefined =>
  address === undefined ? undefined : (new URL(address, 'http://localhost').searchParams.get('cursor') ?? undefined);

/** The file with the address of the next page of sources as a caller may ask for it. */
export function withOpenCursor({ received_more_at: at, ...file }: Series): Series {
  if (at === undefined) return file;
  const [url] = at.split('?') as [string];
  const cursor = givenCursor({ url, query: {} }, cursorIn(at) as string);
  return { ...file, received_more_at: `${url}?${new URLSearchParams({ cursor }).toString()}` };
}

/** In each row, for a file of rows has no other place for it. */
const ofWhole = ({ known_at, suspension }: Series): Pick<SeriesRow, 'known_at' | 'suspended_by'> => ({
  known_at,
  suspended_by: suspension?.by.join(' '),
});

const fateRows = (file: Series): SeriesRow[] => [
  ...file.fates.flatMap(({ branches, ...figure }) =>
    (branches.length === 0 ? [{ branch: undefined, packs: figure.packs }] : branches).map(
      ({ branch, packs }): SeriesRow => ({ ...figure, part: 'fate', branch, packs, ...ofWhole(file) }),
    ),
  ),
  ...(file.suspension?.customers ?? []).map((one): SeriesRow => ({
    part: 'customer to notify',
    ...one,
    ...ofWhole(file),
  })),
];
