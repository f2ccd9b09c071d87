import type { Queryable } from '#postgres';

/** A document list of an account, and for how many seconds it has not been read whole; 0: nothing stands in the way. */
export interface ListUnread {
  account: string;
  list: string;
  seconds: number;
}

/** How long the document lists of these accounts have not been read whole. A list that nobody has begun is left out. */
export async function listsUnread(db: Queryable, accounts: readonly string[]): Promise<ListUnread[]> {
  const { rows } = await db.query<ListUnread>(
    `SELECT account, list, coalesce(extract(epoch FROM clock_timestamp() - unread_since), 0)::float8 AS seconds
     FROM list_cursor WHERE account = ANY ($1::text[]) ORDER BY account, list`,
    [accounts],
  );
  return rows;
}
