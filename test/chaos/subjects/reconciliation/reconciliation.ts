import { complaints, type Ended, type LoadContext, type Stir, type Subject } from '../subject.js';

const RUNS = 4;

/** Comparisons that are asked for while everything breaks: each is made once, whoever died over it. */
export const reconciliation: Subject = { name: 'reconciliation', stir, check };

function stir({ random, lastsMs }: LoadContext): Stir[] {
  return Array.from({ length: RUNS }, (_, n): Stir => ({
    to: 'gateway',
    atMs: random.below(lastsMs),
    path: '/v1/reconciliations',
    body: { reason: `asked for in a campaign, ${n}` },
  }));
}

async function check({ pool, log }: Ended): Promise<string[]> {
  const { rows } = await pool.query<{ run: string; strays: number }>(
    'SELECT run_id AS run, (SELECT count(DISTINCT attempt)::int FROM reconciliation_finding f WHERE f.run_id = ' +
      'r.run_id) AS strays FROM reconciliation_request r',
  );
  const completed = (await log.events()).filter(({ type }) => type === 'RunCompleted').map(({ stream }) => stream);
  const timesMade = (run: string): number => completed.filter((stream) => stream === `run-${run}`).length;
  const asked = rows.length >= RUNS ? [] : [`${rows.length} comparisons were asked for, and not ${RUNS}`];
  return [
    ...asked,
    ...complaints(rows, ({ run, strays }) =>
      timesMade(run) === 1 && strays <= 1
        ? undefined
        : `the comparison ${run} was made ${timesMade(run)} times, with findings of ${strays} attempts`,
    ),
  ];
}
