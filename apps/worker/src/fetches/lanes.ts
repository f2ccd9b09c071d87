import { EXPORT_PHASES, FETCH_LANE, kindOf, methodOf, PAGE_PHASES, type CallingPhase } from '#reconciliation';
import type { HandlerContext, TaskResult } from '#tasks';
import { checkedLane, type Lane, type TaskOf, type TypedLane } from '../lane.js';
import { readExport } from './read-export.js';
import { planFetch, readPages, type FetchContext } from './read-pages.js';

/** Fetches of one account that are read at the same time; each makes one call after the other. */
const HANDS = 2;

/** All tasks of fetches carry the same. */
type Handler = (task: TaskOf<'fetch_sgtins'>, context: HandlerContext) => Promise<TaskResult>;

/** The lanes in which the registry's packs are read for comparisons: one for each method, of each account. */
export function fetchLanes(context: FetchContext, accounts: string[]): Lane[] {
  const handlers: [CallingPhase, Handler][] = [
    ...PAGE_PHASES.map((phase): [CallingPhase, Handler] => [
      phase,
      (task, { signal }) => readPages(context, task, { phase, signal }),
    ]),
    ...EXPORT_PHASES.map((phase): [CallingPhase, Handler] => [phase, (task) => readExport(context, task, phase)]),
  ];
  const ofAccount = (account: string): TypedLane[] =>
    handlers.map(([phase, handle]) => ({
      ...{ name: `${account}/${methodOf(phase)}`, concurrency: HANDS },
      kinds: { [kindOf(phase)]: { handle } },
    }));
  const planning: TypedLane = {
    ...{ name: FETCH_LANE, concurrency: 1 },
    kinds: { plan_fetch: { handle: (task) => planFetch(context, task) } },
  };
  return [planning, ...accounts.flatMap(ofAccount)].map(checkedLane);
}
