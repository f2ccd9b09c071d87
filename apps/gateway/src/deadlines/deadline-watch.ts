import type { EvidenceStore } from '#evidence';
import { readForeignDocument, typeKnowledge } from '#documents';
import { defined, type Clock } from '#kernel';
import type { Pool } from '#postgres';
import {
  namedCalendar,
  nearToAnswer,
  nearToSend,
  unknownDeadlines,
  type CalendarFile,
  type NamedCalendar,
  type NearDeadlines,
  type UnknownDeadline,
} from '#read-models';
import type { ServiceLog, Trouble } from '#service';
import { lookAgain } from '../watch/look-again.js';
import { LookTrouble } from '../watch/look-trouble.js';

export interface DeadlineWatchOptions {
  pool: Pool;
  evidence: Pick<EvidenceStore, 'getMany'>;
  /** Absent: none is set. */
  calendarFile: CalendarFile | undefined;
  /** For so long before its due moment a document counts as near. */
  alertMs: number;
  clock: Clock;
  log: Pick<ServiceLog, 'info' | 'warn'>;
}

/** How the deadlines stand, by role and type, and of which types nobody can tell. */
interface DeadlineFigures {
  near: NearDeadlines[];
  unknown: UnknownDeadline[];
}

const LOOK_EVERY_MS = 60_000;
/** Documents that are known to be answered, at most. */
const MOST_ANSWERED = 50_000;
/** Each of them is looked at again within an hour, for an answer may be revised: with each look, so many. */
const PART_OF_ANSWERED = LOOK_EVERY_MS / 3_600_000;
const NOT_SET =
  'no calendar of deadlines is set (DEADLINE_CALENDAR): nobody can tell which documents are late, and none is guessed';

/** Counts now and then what is due soon, and what was due: for metrics and for the page of operations. */
export class DeadlineWatch {
  private newest: DeadlineFigures = { near: [], unknown: [] };
  private readonly answered = new Set<string>();
  private readonly trouble: LookTrouble;

  constructor(private readonly options: DeadlineWatchOptions) {
    this.trouble = new LookTrouble('deadlines', 'they could not be counted', options.clock);
  }

  /** What calendar is in force, in words; each start says it once. */
  announce(): void {
    const { calendarFile, log } = this.options;
    if (calendarFile === undefined) log.warn({}, NOT_SET);
    else log.info({ calendar: namedCalendar(calendarFile) }, this.sentence());
  }

  sentence(): string {
    const { calendarFile } = this.options;
    if (calendarFile === undefined) return `${NOT_SET}.`;
    const { name, edition, fictitious } = calendarFile.calendar.named;
    const said = `Deadlines follow the calendar "${name}", edition ${edition}.`;
    return fictitious === undefined ? said : `${said} It is made up: ${fictitious}`;
  }

  /** What the newest look has found, with the calendar that it rests on. */
  found(): DeadlineFigures & { calendar?: NamedCalendar; sentence: string } {
    const { calendarFile } = this.options;
    const calendar = calendarFile && namedCalendar(calendarFile);
    return { ...this.newest, ...defined({ calendar }), sentence: this.sentence() };
  }

  async look(): Promise<DeadlineFigures> {
    const { pool, calendarFile, clock } = this.options;
    this.newest = await this.trouble.trying(async () => {
      const unknown = await unknownDeadlines(pool, calendarFile?.calendar, clock.now());
      return { near: calendarFile === undefined ? [] : await this.near(calendarFile), unknown };
    });
    return this.newest;
  }

  private async near({ calendar }: CalendarFile): Promise<NearDeadlines[]> {
    const { pool, evidence, alertMs: soonMs, clock, log } = this.options;
    const now = clock.now();
    const toSend = await nearToSend(pool, calendar, { now, soonMs });
    this.forgetOldestAnswered();
    const sources = { pool, evidence, documents: { readForeignDocument }, types: typeKnowledge, calendar, now };
    const { figures, isCut } = await nearToAnswer(sources, { soonMs, answered: this.answered });
    if (isCut) log.warn({}, 'more documents await an answer than one query counts: the figures are too low');
    return [...toSend, ...figures];
  }

  /** A few at a time: all at once, they would take the place of what awaits an answer, and no breach would show. */
  private forgetOldestAnswered(): void {
    const { size } = this.answered;
    const most = Math.ceil(Math.max(size * PART_OF_ANSWERED, size - MOST_ANSWERED));
    for (const stream of [...this.answered].slice(0, most)) this.answered.delete(stream);
  }

  /**
   * Health is about what runs: what is late is told by metrics, alerts and the report. While nobody can count, these
   * have the figures of before.
   */
  troubles(): Trouble[] {
    return this.trouble.troubles();
  }

  /** Looks at once, and then each minute until `signal`. Never rejects. */
  watch(signal: AbortSignal): Promise<void> {
    const failure = 'the deadlines could not be counted';
    return lookAgain(() => this.look(), { ...this.options, everyMs: LOOK_EVERY_MS, signal, failure });
  }
}
