import { FETCH_LANE, methodOf, type CallingPhase } from '#reconciliation';
import { checkedLane, type Lane, type TypedLane } from '../lane.js';
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
  ];
  const planning: TypedLane = {
    ...{ name: FETCH_LANE, concurrency: 1 },
    kinds: { plan_fetch: { handle: (task) => planFetch(context, task) } },
  };
  return [planning, ...accounts.flatMap(ofAccount)].map(checkedLane);
}
