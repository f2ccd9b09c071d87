import type { Pool } from '#postgres';

/** A pool on which something happens after moves of places were read, and before what comes next. */
export function afterPlaceMoves(pool: Pool, happens: () => Promise<void>): Pool {
  let isOver = false;
  const hooked = <Source extends object>(source: Source): Source =>
    new Proxy(source, {
      get(of, name) {
        const value = Reflect.get(of, name) as unknown;
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]) => {
          const answer = (await Reflect.apply(value, of, given)) as unknown;
          if (name === 'connect') return hooked(answer as object);
          const isMoves = name === 'query' && (given[0] as { name?: string }).name === 'place-moves';
          if (isMoves && !isOver) {
            isOver = true;
            await happens();
          }
          return answer;
        };
      },
    });
  return hooked(pool);
}
