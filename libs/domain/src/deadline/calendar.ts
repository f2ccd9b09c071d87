import { z } from 'zod';
import { firstFault, invalidConfiguration, PLAIN_WORDS } from '#kernel';
import { INBOUND_CHANNELS } from '../inbound/events.js';
import { dayOf, dayText, ZoneDays, type Day } from './days.js';
import { WEEKDAYS, WorkingDays } from './working-days.js';

/** In which role a document binds us: it is ours to send, or it was told to us and is ours to answer. */
export const DEADLINE_ROLES = ['sender', 'receiver'] as const;
export type DeadlineRole = (typeof DEADLINE_ROLES)[number];

/** How a document goes: `api` is this system, the others are those of documents that are not ours. */
export const DEADLINE_CHANNELS = ['api', ...INBOUND_CHANNELS] as const;
export type DeadlineChannel = (typeof DEADLINE_CHANNELS)[number];

/**
 * What starts the clock: the moment that the document claims, the moment at which this system knew it (its command was
 * registered, or a list showed it), or the moment at which the registry accepted it.
 */
const CLOCK_STARTS = ['operation_date', 'known', 'accepted'] as const;

/** What meets a deadline: the registry took the document, or accepted it. */
export const DEADLINE_MET = ['sent', 'accepted'] as const;

const MOST_ROWS = 1_000;
const MOST_TYPES = 200;
const MOST_DAYS = 20_000;
/** Forty years: the days of more would be made up. */
const MOST_LISTED_DAYS = 14_700;

const text = z.string().trim().min(1).max(1_000);
const day = z.string().transform((given, context): Day => {
  const read = dayOf(given);
  if (read !== undefined) return read;
  context.addIssue({ code: 'custom', message: `${given} is not a day (YYYY-MM-DD)` });
  return z.NEVER;
});
const whole = (most: number) => z.number().int().min(0).max(most);
const docTypes = z.array(z.number().int().min(1).max(999_999)).min(1).max(MOST_TYPES);
const channel = z.enum([...DEADLINE_CHANNELS, 'any']);
const role = z.enum(DEADLINE_ROLES);

const limit = z.union([
  z.strictObject({ workingDays: whole(366) }),
  z.strictObject({ calendarDays: whole(3_660), movesToWorkingDay: z.boolean().default(false) }),
  z.strictObject({ hours: z.number().int().min(1).max(8_784) }),
]);

const row = z
  .strictObject({
    docTypes,
    role,
    channel,
    startsAt: z.enum(CLOCK_STARTS),
    limit,
    metWhen: z.enum(DEADLINE_MET),
    /** For the receiver: documents of ours of these types answer what was received. */
    metBy: docTypes.optional(),
    /** For the receiver: documents of others of these types take back what was told, and nothing is owed then. */
    endedBy: docTypes.optional(),
    clause: text,
    edition: text,
    validFrom: day,
    /** Its last day. Absent: it is in force until another edition of the calendar says otherwise. */
    validTo: day.optional(),
  })
  .superRefine(refuseOddRow);

function refuseOddRow(one: z.output<typeof row>, context: z.RefinementCtx): void {
  const refuse = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message });
  if (one.validTo !== undefined && one.validTo < one.validFrom) refuse('validTo', 'lies before validFrom');
  if (one.role === 'receiver' && one.metBy === undefined)
    refuse('metBy', 'must name the types of ours that answer what was received');
  for (const name of ['metBy', 'endedBy'] as const)
    if (one.role === 'sender' && one[name] !== undefined) refuse(name, 'is for the role receiver alone');
  if (one.role === 'sender' && one.startsAt === 'accepted')
    refuse('startsAt', 'the sender cannot wait for the acceptance of its own document');
  const fits = one.channel === 'any' || (one.channel === 'counterparty') === (one.role === 'receiver');
  if (!fits) refuse('channel', `${one.channel} is no channel of the role ${one.role}`);
}

const days = z.array(day).max(MOST_DAYS);
const workingDays = z
  .strictObject({
    from: day,
    to: day,
    weekend: z.array(z.enum(WEEKDAYS)).max(6),
    holidays: days,
    workingWeekendDays: days,
  })
  .superRefine(({ from, to, holidays, workingWeekendDays }, context) => {
    const refuse = (path: (string | number)[], message: string): void =>
      context.addIssue({ code: 'custom', path, message });
    if (to < from) refuse(['to'], 'lies before from');
    if (to - from > MOST_LISTED_DAYS) refuse(['to'], 'lies more than forty years after from');
    const seen = new Map<Day, string>();
    for (const [name, listed] of Object.entries({ holidays, workingWeekendDays }))
      for (const [index, one] of listed.entries()) {
        if (one < from || one > to) refuse([name, index], `${dayText(one)} lies outside from and to`);
        const before = seen.get(one);
        if (before !== undefined) refuse([name, index], `${dayText(one)} stands in ${before} already`);
        seen.set(one, name);
      }
  });

const file = z.strictObject({
  fictitious: text.optional(),
  name: text,
  edition: text,
  zone: z.string().refine(isZone, 'is not a time zone that is known here, such as Europe/Moscow'),
  workingDays,
  deadlines: z.array(row).max(MOST_ROWS),
  /** Types that have no deadline in a role: said, so that nobody is asked about them. */
  withoutDeadline: z.array(z.strictObject({ docTypes, role, reason: text })).max(MOST_ROWS),
});
type CalendarFile = z.output<typeof file>;

/** One row: a limit for documents of these types, in one role, on one channel, while it is in force. */
export type Deadline = z.output<typeof row>;

/** What names a calendar wherever an answer rests on it. */
export interface CalendarName {
  name: string;
  edition: string;
  /** A sentence, where the calendar is made up. Absent: its author says that it is not. */
  fictitious?: string;
}

/** A calendar of deadlines, read and checked. */
export interface DeadlineCalendar {
  named: CalendarName;
  zone: ZoneDays;
  workingDays: WorkingDays;
  deadlines: readonly Deadline[];
  /** The rows of a type in a role on a channel, the earliest first; empty where it is said to have no deadline. */
  rowsOf(of: { role: DeadlineRole; docType: number; channel: DeadlineChannel }): readonly Deadline[] | undefined;
}

function isZone(zone: string): boolean {
  try {
    return new ZoneDays(zone).dayAt(0) <= 0;
  } catch {
    return false;
  }
}

/**
 * The calendar that a JSON file holds, already parsed. @throws PedigreeError `invalid_configuration`: the first place
 * that is wrong, as an RFC 6901 pointer, and why.
 */
export function readCalendar(given: unknown): DeadlineCalendar {
  if (typeof given === 'object' && given !== null && Object.keys(given).indexOf('fictitious') > 0)
    throw invalidConfiguration('/fictitious', 'must be the first field, where a reader sees it');
  const parsed = file.safeParse(given, PLAIN_WORDS);
  if (!parsed.success) {
    const { path, message } = firstIssue(parsed.error.issues);
    throw invalidConfiguration(`/${path.join('/')}`, message);
  }
  const { data } = parsed;
  return {
    named: { name: data.name, edition: data.edition, ...(data.fictitious && { fictitious: data.fictitious }) },
    zone: new ZoneDays(data.zone),
    workingDays: new WorkingDays(data.workingDays),
    deadlines: data.deadlines,
    rowsOf: lookUp(data),
  };
}

interface Issue {
  path: PropertyKey[];
  message: string;
}

/** Of a limit that fits none of its shapes, what is wrong with the shape whose name it bears. */
function firstIssue(issues: z.core.$ZodIssue[]): Issue {
  const [issue] = issues as [z.core.$ZodIssue];
  if (issue.code === 'unrecognized_keys') return firstFault({ issues });
  if (issue.code !== 'invalid_union') return issue;
  const named = issue.errors.find((each) => !each.some(({ code }) => code === 'unrecognized_keys'));
  const inner = named?.[0];
  return inner === undefined
    ? { path: issue.path, message: 'must be one of workingDays, calendarDays and hours' }
    : { path: [...issue.path, ...inner.path], message: inner.message };
}

const keyOf = (role: DeadlineRole, docType: number, on: DeadlineChannel): string => `${role} ${docType} ${on}`;

/** The channels that a row is for. */
const channelsOf = ({ role, channel }: Pick<Deadline, 'role' | 'channel'>): readonly DeadlineChannel[] => {
  if (channel !== 'any') return [channel];
  return DEADLINE_CHANNELS.filter((one) => (one === 'counterparty') === (role === 'receiver'));
};

function lookUp({ deadlines, withoutDeadline }: CalendarFile): DeadlineCalendar['rowsOf'] {
  const rows = new Map<string, { row: Deadline; index: number }[]>();
  for (const [index, one] of deadlines.entries())
    for (const docType of one.docTypes)
      for (const on of channelsOf(one)) {
        const key = keyOf(one.role, docType, on);
        const others = rows.get(key) ?? [];
        const same = others.find(({ row: other }) => overlaps(one, other));
        if (same !== undefined)
          throw invalidConfiguration(
            `/deadlines/${index}`,
            `speaks of type ${docType} as ${one.role} on ${on}, as /deadlines/${same.index} does for the same days`,
          );
        rows.set(key, [...others, { row: one, index }]);
      }
  const without = new Set<string>();
  for (const [index, one] of withoutDeadline.entries())
    for (const docType of one.docTypes)
      for (const on of channelsOf({ role: one.role, channel: 'any' })) {
        const key = keyOf(one.role, docType, on);
        if (rows.has(key))
          throw invalidConfiguration(
            `/withoutDeadline/${index}`,
            `names type ${docType}, for which there is a deadline on ${on}`,
          );
        without.add(key);
      }
  const found = new Map([...rows].map(([key, all]) => [key, inOrder(all.map(({ row: one }) => one))]));
  return ({ role: as, docType, channel: on }) => {
    const key = keyOf(as, docType, on);
    return found.get(key) ?? (without.has(key) ? [] : undefined);
  };
}

const inOrder = (rows: Deadline[]): Deadline[] => rows.toSorted((a, b) => a.validFrom - b.validFrom);

const overlaps = (a: Deadline, b: Deadline): boolean =>
  a.validFrom <= (b.validTo ?? Infinity) && b.validFrom <= (a.validTo ?? Infinity);
