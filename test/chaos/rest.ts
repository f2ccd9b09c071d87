import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { systemClock } from '#kernel';
import type { Pool } from '#postgres';
import { heardBy, registryDocuments, truthOf, type Gathered } from './ended.js';
import { endWhatIsHeld } from './person.js';
import type { CheckResult } from './report.js';
import type { Subject, TruthDocument } from './subjects/subject.js';

const ROUND_MS = 500;
const SAY_EVERY_MS = 10_000;

/** What is still to be done. All at 0 is rest. */
interface Unrest {
  /** Messages without an answer. */
  unanswered: number;
  /** Commands that lie in the broker. */
  queued: number;
  unfinished: number;
  tasks: number;
  /** Subscriptions that are behind the log. */
  behind: number;
  /** What the subjects still wait for. */
  ofSubjects: number;
}

export interface RestOptions extends Gathered {
  subjects: Subject[];
  limitMs: number;
  say(text: string): void;
}

/**
 * Waits until every message is answered, every document concluded, every task done and every subscription at the end of
 * the log; says so when that does not come about in time.
 */
export async function untilAtRest(options: RestOptions): Promise<CheckResult> {
  const { limitMs, say } = options;
  const beganMs = systemClock.monotonicMs();
  const passedMs = (): number => Math.round(systemClock.monotonicMs() - beganMs);
  let seen = '';
  for (let saidMs = 0; passedMs() < limitMs;) {
    const unrest = await unrestOf(options).catch((error: Error) => error);
    seen = unrest instanceof Error ? unrest.message : JSON.stringify(unrest);
    if (!(unrest instanceof Error) && Object.values(unrest).every((count) => count === 0)) {
      return { name: 'came to rest', complaints: await givenUp(options.pool), seconds: passedMs() / 1_000 };
    }
    if (passedMs() - saidMs > SAY_EVERY_MS) {
      saidMs = passedMs();
      say(`not at rest after ${saidMs} ms: ${seen}`);
    }
    await systemClock.wait(ROUND_MS);
  }
  return {
    name: 'came to rest',
    complaints: [`not at rest after ${limitMs} ms: ${seen}`, ...(await givenUp(options.pool))],
    seconds: limitMs / 1_000,
  };
}

async function unrestOf({ erp, ground, pool, log, feed, broker, subjects }: RestOptions): Promise<Unrest> {
  const client = new GatewayClient(ground.gateways[0]?.url as string);
  await endWhatIsHeld(client, erp.fed);
  const { unfinished } = await client.get<{ unfinished: number }>('/v1/summary');
  const { subscriptions } = await client.get<{ subscriptions: { lag: string }[] }>('/v1/operations');
  const recurring = subjects.flatMap((subject) => subject.recurring ?? []);
  const { rows } = await pool.query<{ n: string }>(
    'SELECT count(*)::text AS n FROM task WHERE kind <> ALL ($1::text[]) AND failed_at IS NULL',
    [recurring],
  );
  const registry = (): Promise<TruthDocument[]> => registryDocuments(truthOf(ground));
  let ofSubjects = 0;
  for (const subject of subjects)
    ofSubjects += (await subject.unrest?.({ registry, log, heard: heardBy({ feed, broker }) })) ?? 0;
  return {
    ofSubjects,
    unanswered: erp.open,
    queued: (await broker?.commandsWaiting()) ?? 0,
    unfinished,
    tasks: Number(rows[0]?.n),
    behind: subscriptions.filter((one) => one.lag !== '0').length,
  };
}

async function givenUp(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ key: string; error: string }>(
    'SELECT key, last_error AS error FROM task WHERE failed_at IS NOT NULL',
  );
  return rows.map((one) => `the task ${one.key} was given up: ${one.error}`);
}
