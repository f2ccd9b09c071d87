import type { z } from 'zod';
import type { packChecks, packPage, seriesFile, stockPage } from '#read-models';
import { columnsOf, columnsWithin, type Columns } from './columns.js';
import type { containerContentAnswer, packHistoryAnswer } from './pack-answers.js';

type Pack = z.infer<typeof packPage>['items'][number];
type Movement = z.infer<typeof packHistoryAnswer>['movements'][number];
type Content = z.infer<typeof containerContentAnswer>;
type Checks = z.infer<typeof packChecks>;
export type Told = z.infer<typeof seriesFile>['received'][number]['by'];

/** A list of packs. */
export const PACKS: Columns<Pack> = {
  ...columnsOf<Pack>('sgtin', 'gtin', 'serial', 'status', 'place', 'container', 'series', 'expires_on', 'uncertain'),
  ...columnsWithin(
    'told_by',
    ({ told_by }: Pack) => told_by,
    columnsOf<Pack['told_by']>(
      ...(['known_at', 'doc_type', 'request_id', 'document_id', 'accepted_at'] as const),
      ...(['document_sha256', 'receipt_sha256'] as const),
    ),
  ),
  ...columnsWithin(
    'series_told_by',
    ({ series_told_by }: Pack) => series_told_by,
    columnsOf<Pack['told_by']>('known_at', 'request_id', 'document_sha256'),
  ),
  ...columnsWithin(
    'uncertain_by',
    ({ uncertain_by }: Pack) => uncertain_by,
    columnsOf<Pack['told_by']>('known_at', 'request_id', 'document_id', 'document_sha256'),
  ),
};

export const STOCK = columnsOf<z.infer<typeof stockPage>['items'][number]>(
  ...(['place', 'gtin', 'series', 'expires_on', 'status', 'packs', 'known_at'] as const),
);

/** Up to which position of the log the whole answer is: a row has a `known_at` of its own. */
interface UpTo {
  answer_known_at?: string | undefined;
}

/** The life of a pack or a container: a row a movement. */
export const MOVEMENTS = {
  rows: ({ movements, known_at }: { movements: Movement[]; known_at?: string | undefined }): (Movement & UpTo)[] =>
    movements.map((one) => ({ ...one, answer_known_at: known_at })),
  columns: columnsOf<Movement & UpTo>(
    ...(['known_at', 'accepted_at', 'operation_date', 'item', 'through', 'doc_type', 'title', 'channel'] as const),
    ...(['result', 'error_code', 'error_text', 'status', 'subject_id', 'counterparty_id', 'corrects'] as const),
    ...(['request_id', 'document_id', 'document_sha256', 'receipt_sha256', 'answer_known_at'] as const),
  ),
};

/** The document that told something. */
export const TOLD = columnsOf<Told>(
  ...(['known_at', 'doc_type', 'title', 'request_id', 'document_id', 'accepted_at', 'subject_id'] as const),
  ...(['counterparty_id', 'document_sha256', 'receipt_sha256'] as const),
);

interface ContentRow extends UpTo {
  item: string;
  container?: string | undefined;
  level: number;
  known_at?: string;
  told_by?: Told | undefined;
  content_unknown?: string | undefined;
}

/**
 * What a container holds: a row an item, with the document that packed it. Where nobody told what is in it, a row of
 * level 0 says so, for a file without a row would say that it is empty. A container in it says so in its own row.
 */
export const CONTENT = {
  rows: ({ sscc, container, is_known: isKnown, unknown, items, documents, known_at }: Content): ContentRow[] => {
    const upTo = { answer_known_at: known_at };
    if (!isKnown && items.length === 0)
      return [{ item: sscc, container, level: 0, content_unknown: unknown?.sentence, ...upTo }];
    const byPosition = new Map(documents.map((one) => [one.known_at, one]));
    return items.map((item) => ({ ...item, told_by: byPosition.get(item.known_at), ...upTo }));
  },
  columns: {
    ...columnsOf<ContentRow>('item', 'container', 'level', 'known_at'),
    ...columnsWithin('told_by', ({ told_by }: ContentRow) => told_by, TOLD),
    ...columnsOf<ContentRow>('content_unknown', 'answer_known_at'),
  },
};

type CheckRow = Omit<Checks, 'items'> & Checks['items'][number];

/** Whether packs may be moved: a row a code, with how old our record is. */
export const CHECKS = {
  rows: ({ items, ...asked }: Checks): CheckRow[] => items.map((one) => ({ ...asked, ...one })),
  columns: {
    ...columnsOf<CheckRow>('code', 'sgtin', 'answer'),
    reasons: ({ reasons }: CheckRow) => reasons.map(({ code }) => code).join(' '),
    sentences: ({ reasons }: CheckRow) => reasons.map(({ sentence }) => sentence).join(' '),
    ...columnsWithin('pack', ({ pack }: CheckRow) => pack, PACKS),
    ...columnsOf<CheckRow>('purpose', 'place', 'day', 'advice_only', 'known_at', 'newest_accepted_at'),
  },
};
