import type { RecordedEvent } from '#event-store';
import type { Saga } from '../src/fold.js';

/**
 * Deliveries: counted per shop; each second one plans a check, a closed shop is forgotten. An event may name a second
 * shop to tell.
 */
export interface ShopState {
  count: number;
  last?: number;
  closed?: boolean;
}

export const SHOPS: Saga<ShopState> = {
  name: 'shops',
  filter: { streamPrefixes: ['shop-'] },
  keysOf: (event) => [textOf(event, 'shop'), ...('tell' in event.data ? [textOf(event, 'tell')] : [])],
  initial: { count: 0 },
  react: (state, event, key) => {
    if (event.type === 'Closed')
      return { state: { ...state, closed: true }, tasks: [task(`closed:${key}:${state.count}`)] };
    if (event.type === 'Looked') return { state, tasks: [] };
    const n = Number(event.data['n']);
    const next = { count: state.count + 1, last: n };
    return {
      state: next,
      tasks: next.count % 2 === 0 ? [task(`check:${key}:${next.count}:${n}:${state.last ?? 'none'}`)] : [],
    };
  },
  isDone: (state) => state.closed === true,
};

const textOf = (event: RecordedEvent, field: string): string => String(event.data[field]);
const task = (key: string) => ({ key, kind: 'check', lane: 'internal', dueAt: new Date(0), payload: {} });
