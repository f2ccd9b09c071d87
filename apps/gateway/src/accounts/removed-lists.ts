import type { QueueFigures } from '#tasks';

/** What a worker reads of an account again and again, whatever is sent. */
const READ_REGULARLY = ['list_incoming', 'list_outgoing', 'suspended_list'];

/**
 * The figures without the lists of accounts that were removed: nobody reads them, on purpose, so they are not late.
 * What else waits for such an account stays in: it is work that nobody would do.
 */
export function withoutRemovedLists(figures: QueueFigures, accounts: readonly string[]): QueueFigures {
  const isRead = (lane: string): boolean => {
    const cut = lane.lastIndexOf('/');
    return !READ_REGULARLY.includes(lane.slice(cut + 1)) || accounts.includes(lane.slice(0, cut));
  };
  return { ...figures, lanes: figures.lanes.filter(({ lane }) => isRead(lane)) };
}
