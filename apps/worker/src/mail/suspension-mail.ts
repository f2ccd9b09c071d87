import { canonicalJson, systemClock, uuid5, wordsOf, type Clock } from '#kernel';
import type { Queryable } from '#postgres';
import { RECENT_DAYS, type SuspensionDetail } from '#read-models';
import type { TaskResult } from '#tasks';
import { checkedLane, type Lane, type TaskOf } from '../lane.js';
import type { MailSettings } from './mail-settings.js';
import { MAIL_LANE } from './plan-mails.js';
import { receiversMailed } from './receivers-mailed.js';
import { sendMail } from './send-mail.js';

export interface MailContext {
  pool: Queryable;
  /** Absent: no mail is sent. */
  mail?: MailSettings | undefined;
  installation: { id: string };
  /** A suspension as it stands now, with our packs; what moved within so many days is recent. */
  suspensionNow(suspensionId: string, recentDays: number): Promise<SuspensionDetail | undefined>;
  clock?: Clock;
}

/** An attempt from which on a suspension is told without our packs, where they cannot be counted. */
export const COUNTED_TIMES = 3;
/** For so long a worker takes no mail after one that it had to leave to others: they come first. */
const LEFT_FOR_MS = 30_000;
/** Places of one suspension that a mail names. */
const MOST_PLACES = 50;

/**
 * A lane of its own: a mail server that is away keeps nothing else waiting. A worker without mail takes nothing from it
 * while another has mail.
 */
export function mailLane(context: MailContext): Lane {
  const { mail, pool, clock = systemClock } = context;
  let leftUntilMs = -Infinity;
  const handle = (task: TaskOf<'mail_suspensions'>): Promise<TaskResult> => {
    const { to: receiver } = task.payload;
    const to = mail?.to.filter((one) => receiver === undefined || one === receiver) ?? [];
    if (mail !== undefined && to.length > 0) return mailSuspensions(context, task, { ...mail, to });
    leftUntilMs = clock.monotonicMs() + LEFT_FOR_MS;
    return leftToOthers(context, receiver);
  };
  return checkedLane({
    // A mail server may be away in the same words.
    isAway: () => false,
    ...{ name: MAIL_LANE, concurrency: 1 },
    kinds: { mail_suspensions: { handle } },
    held: async () =>
      clock.monotonicMs() < leftUntilMs || (mail === undefined && (await receiversMailed(pool)).size > 0),
  });
}

/**
 * For one receiver: where another's address is wrong, this one has its mail once. A task of the version before is for
 * all. It is tried as often as the lane allows, at longer and longer intervals; then it stands as failed, for a person.
 */
async function mailSuspensions(
  context: MailContext,
  task: TaskOf<'mail_suspensions'>,
  mail: MailSettings,
): Promise<TaskResult> {
  const { suspensions, count } = task.payload;
  const told: SuspensionDetail[] = [];
  const uncounted: Uncounted[] = [];
  for (const id of suspensions) {
    try {
      const found = await context.suspensionNow(id, RECENT_DAYS);
      if (found !== undefined) told.push(found);
    } catch (error) {
      // A series of very many packs must not keep the news of it, and of the others, from everybody.
      if (task.attempts < COUNTED_TIMES) throw error;
      uncounted.push({ id, problem: wordsOf(error) });
    }
  }
  const id = uuid5(canonicalJson([task.key, task.payload]), context.installation.id);
  await sendMail(mail, { id, ...mailOf(told, count, uncounted) });
  return { kind: 'done' };
}

/**
 * A worker may have other settings than the next, as in a restart of one after the other. Counted: where those who
 * would mail it never do, it stands as failed in the end.
 */
async function leftToOthers({ pool }: MailContext, receiver: string | undefined): Promise<TaskResult> {
  const mailed = await receiversMailed(pool);
  if (receiver === undefined ? mailed.size === 0 : !mailed.has(receiver)) return { kind: 'done' };
  throw new Error(
    `this worker does not mail ${receiver ?? 'anybody'}, and another does: give all the same PEDIGREE_MAIL_HOST and ` +
      'PEDIGREE_MAIL_TO',
  );
}

/** A suspension of which our packs could not be counted. */
interface Uncounted {
  id: string;
  problem: string;
}

/** What changed, and our packs by branch. Pure. */
export function mailOf(
  told: SuspensionDetail[],
  count: number,
  uncounted: Uncounted[] = [],
): { subject: string; text: string } {
  const [first] = told;
  const subject =
    count === 1 && first !== undefined
      ? `Pedigree: ${first.action} of series ${first.series}, ${first.product}`
      : `Pedigree: ${count} suspensions have changed`;
  const more = count - told.length - uncounted.length;
  const rest = more > 0 ? [`And ${more} more: pedigree suspensions --all`] : [];
  return {
    subject: subject.replace(/\s+/g, ' '),
    text: `${[...told.map(suspensionWords), ...uncounted.map(uncountedWords), ...rest].join('\n\n')}\n`,
  };
}

const uncountedWords = ({ id, problem }: Uncounted): string =>
  `A suspension changed, and our packs of it could not be counted: ${problem}\n  pedigree suspensions show ${id}`;

/** List, decisions and letters do not release each other. */
const RELEASED = 'It holds its packs no longer. Another suspension of the series may still hold them.';

function suspensionWords(suspension: SuspensionDetail): string {
  const { suspensionId, source, product, series, action, inForce, number, decisionId, date, from } = suspension;
  const by = {
    list: "the registry's list",
    letter: `letter ${number ?? ''} of ${date ?? ''} from ${from ?? ''}`,
    decision: `decision ${number ?? decisionId ?? ''} of ${date ?? ''} in the registry`,
  }[source];
  const places = suspension.affected.flatMap(({ gtin, series: ours, branches }) =>
    placesOf(branches, `${gtin} ${ours}`),
  );
  const named = places.slice(0, MOST_PLACES);
  return [
    `${action}: series ${series} of ${product}, by ${by}.`,
    inForce ? 'Its packs must not be sold or sent on.' : RELEASED,
    ...(named.length === 0 ? [`  ${whyNone(suspension)}`] : named),
    ...(places.length > named.length ? [`  and ${places.length - named.length} more places`] : []),
    ...unknownWords(suspension.seriesUnknown),
    `  pedigree suspensions show ${suspensionId}`,
  ].join('\n');
}

/** Who reads that none of our packs is concerned looks no further: it is said where somebody can know it. */
function whyNone({ suspensionId, state, matches }: SuspensionDetail): string {
  if (state === 'unmatched')
    return `nobody has said yet which packs it means: pedigree suspensions match ${suspensionId}`;
  if (matches.length === 0) return 'it means no product that we know of, as a person says';
  const where = `in stock, in transit, or shipped within ${RECENT_DAYS} days`;
  return `none of our packs ${where}, as far as documents told their series`;
}

const placesOf = (branches: SuspensionDetail['affected'][number]['branches'], what: string): string[] =>
  branches
    .filter(({ standing, recent }) => standing !== 'shipped' || recent)
    .map(
      ({ branch, standing, place, packs }) =>
        `  ${standing.replace('_', ' ')}: ${packs} of ${what}, branch ${branch ?? 'unknown'}` +
        (place === undefined || place === branch ? '' : `, at ${place}`),
    );

/** Packs of these products whose series no document has told. */
function unknownWords(seriesUnknown: SuspensionDetail['seriesUnknown']): string[] {
  return seriesUnknown.flatMap(({ gtin, branches }) => {
    const places = placesOf(branches, `${gtin}, series unknown`);
    if (places.length === 0) return [];
    const more = places.length > MOST_PLACES ? [`  and ${places.length - MOST_PLACES} more places`] : [];
    return [
      'No document has told the series of these packs, some may be concerned:',
      ...[...places.slice(0, MOST_PLACES), ...more],
      `  pedigree packs --series-unknown --gtin ${gtin}`,
    ];
  });
}
