import { createHash } from 'node:crypto';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { seededRandom } from '../../apps/cli/src/sample/random.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { processName } from '../../apps/worker/src/leases/process-name.js';
import { openEventStore } from '#event-store';
import { systemClock } from '#kernel';
import { openPool, type Pool } from '#postgres';
import { eventsOf } from '../support/event-log/events-of.js';
import { until } from '../support/until.js';
import { ErpBroker } from './broker.js';
import { CampaignLog } from './campaign-log.js';
import { endedOf, type Gathered } from './ended.js';
import { Erp } from './erp.js';
import { FeedListener } from './listener.js';
import { longPauseAtMs, type CampaignOptions } from './options.js';
import { OrphanWatch } from './orphan-watch.js';
import { planOf, type PlannedFault } from './plan.js';
import { reportOf, type CheckResult, type Report } from './report.js';
import { untilAtRest } from './rest.js';
import { breakGround, type Ground } from './services/ground.js';
import type { Program } from './services/program.js';
import type { Corners } from './subjects/corners/reached.js';
import { subjects } from './subjects/list.js';
import type { Ended, LoadContext, Message, Stir, Subject } from './subjects/subject.js';
import { Trouble } from './trouble.js';

const SEALED_WITHIN_MS = 30_000;

const ACCOUNTS = ['main', 'north', 'south', 'retail'];
/** The last command comes a little before the last fault. */
const FEED_SHARE = 0.9;
/** Of something that is asked of the gateways; they are killed as others are. */
const STIR_TRIES = 60;
const STIR_PAUSE_MS = 500;

export interface CampaignPlace {
  folder: string;
  path: string;
  /** An empty EventStoreDB or KurrentDB for the log. Absent: the log lies in the campaign's own PostgreSQL. */
  eventStoreUrl?: string | undefined;
  say(text: string): void;
}

/**
 * Starts everything, feeds and breaks it as planned, lets it come to rest, and checks. The same options make the same
 * plan of load and faults.
 */
export async function runCampaign(options: CampaignOptions, place: CampaignPlace): Promise<Report> {
  const beganMs = systemClock.monotonicMs();
  const ground = await breakGround({ ...options, ...place });
  const gathered = await gatheredOn(ground, options, place);
  const { erp, pool, feed, broker, orphans } = gathered;
  const hasBroker = broker !== undefined;
  const trouble = new Trouble(ground, place.say, (program) => sendsInHand(pool, program));
  const results: CheckResult[] = [];
  let corners: Corners | undefined;
  try {
    await broker?.start();
    feed.start();
    orphans.start();
    place.say(`up after ${seconds(beganMs)} s; feeding ${erp.fed.length} messages`);
    const plan = planOf({ ...options, programs: ground.programs.map((one) => one.name), hasBroker });
    results.push(await live({ ...gathered, options, plan, trouble, say: place.say }));
    const ended = await endedOf(gathered, { options, struck: trouble.struck });
    corners = ended.corners;
    results.push(...(await check(ended, ground.programs, place.say)));
  } finally {
    results.push(...(await closeAll(gathered)));
  }
  results.push(noneDied(ground));
  return reportOf({
    options,
    fed: erp.fed,
    struck: trouble.struck,
    results,
    corners,
    connectionsCut: ground.registry.cut,
    hasBroker,
    log: place.eventStoreUrl === undefined ? 'database' : 'server',
    seconds: seconds(beganMs),
  });
}

/** What feeds and watches the programs; nothing of it is started yet. */
async function gatheredOn(
  ground: Ground,
  options: CampaignOptions,
  { eventStoreUrl }: CampaignPlace,
): Promise<Gathered> {
  const pool = openPool({ connectionString: ground.postgres.url, maxConnections: 4, applicationName: 'chaos-checks' });
  const log = new CampaignLog(await openEventStore({ pool, eventStoreUrl }));
  const gateways = ground.gateways.map((one) => one.url);
  const broker = ground.rabbit === undefined ? undefined : new ErpBroker(ground.rabbit.url);
  const erp = new Erp({
    gateways,
    publish: broker === undefined ? undefined : (message) => broker.publish(message),
    messages: messagesOf(options, broker !== undefined),
  });
  return { ground, erp, pool, log, feed: new FeedListener(gateways), broker, orphans: OrphanWatch.over(pool, log) };
}

/** Returns what did not stop in good order. */
async function closeAll({ orphans, feed, broker, log, pool, ground }: Gathered): Promise<CheckResult[]> {
  await orphans.stop();
  await feed.stop();
  await broker?.stop();
  await log.store.close();
  await pool.end();
  return ground.close().then(
    () => [],
    (error: Error) => [{ name: 'orderly stop', complaints: [error.message], seconds: 0 }],
  );
}

const noneDied = ({ deaths }: Ground): CheckResult => ({
  name: 'no process died of itself',
  complaints: deaths.map((one) => `${one.program}: ${one.how}: ${one.lastWords}`),
  seconds: 0,
});

interface Life extends Gathered {
  options: CampaignOptions;
  plan: PlannedFault[];
  trouble: Trouble;
  say(text: string): void;
}

/** Load and faults together, then calm, then rest. */
async function live({ options, plan, trouble, say, ...gathered }: Life): Promise<CheckResult> {
  const enough = new AbortController();
  const { erp, ground } = gathered;
  const stirring = stirUp(ground, stirsOf(options));
  const feeding = Promise.all([erp.feed(enough.signal), stirring]);
  try {
    await trouble.make(plan);
    say('calm');
    await fetch(`${ground.sandbox.controlUrl}/misbehaviour`, { method: 'POST', body: JSON.stringify({ rate: 0 }) });
    // What others still send would come after the rest.
    await stirring;
    return await untilAtRest({ ...gathered, subjects, limitMs: options.restLimitMs, say });
  } finally {
    enough.abort();
    await feeding;
  }
}

/** Sends whose task the program has a lease of. */
async function sendsInHand(pool: Pool, { pid }: Program): Promise<number> {
  if (pid === undefined) return 0;
  const { rows } = await pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM task WHERE kind = 'send' AND lease_until > now() AND holder = $1`,
    [processName(pid)],
  );
  return rows[0]?.n ?? 0;
}

/** The auditors stop last: they seal what the others have appended up to their end. */
async function stopAll(ended: Ended, programs: Program[]): Promise<CheckResult> {
  const beganMs = systemClock.monotonicMs();
  const complaints: string[] = [];
  const note = (error: Error): void => void complaints.push(error.message);
  const stop = async (some: Program[]): Promise<void> => {
    for (const program of some) await program.stop().catch(note);
  };
  await stop(programs.filter((one) => !isAuditor(one)));
  await until('the auditors have sealed every event', () => isSealed(ended), SEALED_WITHIN_MS).catch(note);
  await stop(programs.filter(isAuditor));
  return { name: 'all stop when told to', complaints, seconds: seconds(beganMs) };
}

const isAuditor = ({ name }: Program): boolean => name.startsWith('auditor');

async function isSealed({ pool, log }: Ended): Promise<boolean> {
  let events = 0;
  for await (const _ of eventsOf(log.store)) events += 1;
  const { rows } = await pool.query<{ size: string }>('SELECT size::text FROM audit_tree');
  return Number(rows[0]?.size ?? 0) >= events;
}

async function check(ended: Ended, programs: Program[], say: (text: string) => void): Promise<CheckResult[]> {
  // What is checked stands still; an orderly stop is part of what must work.
  const results = [await stopAll(ended, programs)];
  for (const subject of subjects) {
    if (subject.check === undefined) continue;
    const beganMs = systemClock.monotonicMs();
    const complaints = await subject
      .check(ended)
      .catch((error: Error) => [`the check itself failed: ${error.stack ?? error.message}`]);
    results.push({ name: subject.name, complaints, seconds: seconds(beganMs) });
    say(`${subject.name}: ${complaints.length === 0 ? 'good' : complaints.join('\n  ')}`);
  }
  return results;
}

/**
 * What all subjects feed; each draws from a chance of its own, so that a new subject leaves the others' load as it was.
 */
export const messagesOf = (options: CampaignOptions, hasBroker: boolean): Message[] =>
  subjects.flatMap((subject) => subject.load?.(contextOf(options, { subject, hasBroker })) ?? []);

/** What others do at the registry. */
export const stirsOf = (options: CampaignOptions): Stir[] =>
  subjects
    .flatMap((subject) => subject.stir?.(contextOf(options, { subject, hasBroker: false })) ?? [])
    .sort((a, b) => a.atMs - b.atMs);

async function stirUp({ sandbox, gateways }: Ground, stirs: Stir[]): Promise<void> {
  const beganMs = systemClock.monotonicMs();
  for (const { atMs, to, path, body } of stirs) {
    await systemClock.wait(Math.max(0, atMs - (systemClock.monotonicMs() - beganMs)));
    if (to === 'gateway') {
      await askGateways(
        gateways.map(({ url }) => url),
        path,
        body,
      );
      continue;
    }
    const answer = await fetch(`${sandbox.controlUrl}${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  }
}

/** One after the other, until one takes it. */
async function askGateways(urls: string[], path: string, body: object): Promise<void> {
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  let seen = 'no answer';
  for (let tries = 0; tries < STIR_TRIES; tries += 1) {
    const refusal = await fetch(`${urls[tries % urls.length] as string}${path}`, request).then(
      async (answer) => (answer.ok ? undefined : answer.text()),
      (error: Error) => error.message,
    );
    if (refusal === undefined) return;
    seen = refusal;
    await systemClock.wait(STIR_PAUSE_MS);
  }
  throw new Error(`${path}: ${seen}`);
}

function contextOf(
  options: CampaignOptions,
  { subject, hasBroker }: { subject: Subject; hasBroker: boolean },
): LoadContext {
  const world = readWorld(sandboxFile('data/world.json'));
  const run = digestOf(`run ${options.seed}`).toString(36).toUpperCase().padStart(3, '0').slice(-3);
  return {
    seed: options.seed,
    random: seededRandom(options.seed ^ digestOf(subject.name)),
    world,
    accounts: ACCOUNTS,
    run,
    documents: options.documents,
    lastsMs: Math.round(options.minutes * 60_000 * FEED_SHARE),
    longPauseAtMs: longPauseAtMs(options),
    hasBroker,
  };
}

const digestOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE();
const seconds = (sinceMs: number): number => Math.round((systemClock.monotonicMs() - sinceMs) / 100) / 10;
