import { FETCH_LANE, methodOf, type CallingPhase } from '#reconciliation';
import { checkedLane, type Lane, type TypedLane } from '../lane.js';
import { readExport } from './read-export.js';
import { planFetch, readPages, type FetchContext } from './read-pages.js';

/** Fetches of one account that are read at the same time; each makes one call after the other. */
const HANDS = 2;

/** The lanes in which the registry's packs are read for comparisons. */
export function fetchLanes(context: FetchContext, accounts: string[]): Lane[] {
  const lane = (account: string, phase: CallingPhase, kinds: TypedLane['kinds']): TypedLane => ({
    ...{ name: `${account}/${methodOf(phase)}`, kinds, concurrency: HANDS },
  });
  const ofAccount = (account: string): TypedLane[] => [
    lane(account, 'containers', {
      fetch_containers: { handle: (task, { signal }) => readPages(context, task, { phase: 'containers', signal }) },
    }),
    lane(account, 'filter', {
      fetch_sgtins: { handle: (task, { signal }) => readPages(context, task, { phase: 'filter', signal }) },
    }),
    lane(account, 'list', {
      fetch_sgtins_by_list: { handle: (task, { signal }) => readPages(context, task, { phase: 'list', signal }) },
    }),
    lane(account, 'archive', {
      fetch_archived_sgtins: { handle: (task, { signal }) => readPages(context, task, { phase: 'archive', signal }) },
    }),
    lane(account, 'suspended', {
      fetch_suspended_sgtins: {
        handle: (task, { signal }) => readPages(context, task, { phase: 'suspended', signal }),
      },
    }),
    lane(account, 'decisions', {
      fetch_suspension_decisions: {
        handle: (task, { signal }) => readPages(context, task, { phase: 'decisions', signal }),
      },
    }),
    lane(account, 'export_seek', {
      seek_pack_export: { handle: (task) => readExport(context, task, 'export_seek') },
    }),
    lane(account, 'export_order', {
      order_pack_export: { handle: (task) => readExport(context, task, 'export_order') },
    }),
    lane(account, 'export_wait', {
      await_pack_export: { handle: (task) => readExport(context, task, 'export_wait') },
    }),
    lane(account, 'export_result', {
      find_pack_export_result: { handle: (task) => readExport(context, task, 'export_result') },
    }),
    lane(account, 'export_file', {
      download_pack_export: { handle: (task) => readExport(context, task, 'export_file') },
    }),
    lane(account, 'export_remove', {
      remove_pack_export: { handle: (task) => readExport(context, task, 'export_remove') },
    }),
  ];
  const planning: TypedLane = {
    ...{ name: FETCH_LANE, concurrency: 1 },
    kinds: { plan_fetch: { handle: (task) => planFetch(context, task) } },
  };
  return [planning, ...accounts.flatMap(ofAccount)].map(checkedLane);
}
