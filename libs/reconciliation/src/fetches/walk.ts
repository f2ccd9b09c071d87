/** Where a long walk through a list stands. It is stored after each page, so that another process can go on. */
export interface Place {
  offset: number;
  /** Entries of the page before. Empty at the beginning. */
  anchors: string[];
  /** Times in a row that the walk has stepped back. */
  back: number;
  /** Times that the list ended before its total; absent: none. */
  ends?: number;
}

/** Times that a list may end before its total: entries may go between the count and the page. */
const MOST_ENDS = 10;

export const BEGINNING: Place = { offset: 0, anchors: [], back: 0 };

export interface PageSeen {
  /** Of its entries, in their order. One that stands twice counts twice: so the registry counts, too. */
  keys: readonly string[];
  /** Entries in all, as this page says. */
  total: number;
  pageSize: number;
}

/**
 * Where the next page of a list begins that others change meanwhile, or `end`. A page begins with the last entry of the
 * one before. As long as it shows any entry of that page, nothing between them was passed over: what stays keeps its
 * order. A page that shows none may lie behind a gap, so the walk steps back, twice as far each time, and at the
 * beginning of the list it begins anew. A total alone ends nothing: the last page is also shorter than was asked for.
 * `short`: again and again nothing comes where the total says that something does, and nobody can tell what that is.
 */
export function nextPlace(place: Place, { keys, total, pageSize }: PageSeen): Place | 'end' | 'short' {
  const isJoined = place.anchors.length === 0 || keys.some((key) => place.anchors.includes(key));
  if (!isJoined) return stepBack(place, pageSize);
  if (place.offset + keys.length >= total && keys.length < pageSize) return 'end';
  const distinct = [...new Set(keys)];
  // A page of one entry alone, again and again, is passed by its lines.
  const step = distinct.length === 1 ? keys.length : distinct.length;
  if (step >= 2) return { ...place, offset: place.offset + step - 1, anchors: distinct, back: 0 };
  const ends = (place.ends ?? 0) + 1;
  return ends > MOST_ENDS ? 'short' : stepBack({ ...place, ends }, pageSize);
}

function stepBack(place: Place, pageSize: number): Place {
  const { offset, anchors, back } = place;
  const to = Math.max(0, offset - pageSize * 2 ** Math.min(back, 30));
  return { ...place, offset: to, anchors: to === 0 ? [] : anchors, back: back + 1 };
}
