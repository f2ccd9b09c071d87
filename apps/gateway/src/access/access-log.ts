import { randomUUID } from 'node:crypto';
import {
  accessStream,
  type AccessEvent,
  type ApiKeysRefused,
  type EvidenceOpened,
  type ExportBegun,
  type ExportEnded,
  type StockUploaded,
  stockUploadStream,
} from '#domain';
import { newEvent, type Actor, type EventStore, type NewEvent, type Says } from '#event-store';
import { PedigreeError, uuid5, type Clock } from '#kernel';

export interface AccessLogOptions {
  store: Pick<EventStore, 'append'>;
  says: Says;
  installationId: string;
  clock: Clock;
  /** For so long a caller waits for the log. Default: 5 s. */
  limitMs?: number;
}

/** Who was given something, and why, where that was said. */
interface AccessBy {
  actor: Actor;
  reason?: string | undefined;
}

/** Accesses of one caller that are recorded within a minute; more are answered 429. */
export const MOST_ACCESSES = 600;
export const ACCESS_WINDOW_SECONDS = 60;
/** Callers that are counted at a time; past it the one that was heard of longest ago begins anew. */
const MOST_CALLERS = 10_000;
/** Openings, and exports of the same bytes, that this gateway knows to be in the log. */
const MOST_KNOWN = 50_000;
const LIMIT_MS = 5_000;

/**
 * Writes down who was given what, before it is given: what cannot be recorded is refused. Two gateways that record the
 * same opening make one event, for its id follows from who, what and the day.
 */
export class AccessLog {
  private readonly callers = new Map<string, { accesses: number; untilMs: number }>();
  private readonly known = new Set<string>();

  constructor(private readonly options: AccessLogOptions) {}

  /** @throws PedigreeError `unavailable`, `too_many_accesses`: then nothing may be given out. */
  async evidenceOpened(data: EvidenceOpened['data'], by: AccessBy): Promise<void> {
    const at = this.options.clock.now();
    const { kind, name, authenticatedBy } = by.actor;
    const who = [kind, name, authenticatedBy, data.openedSha256, data.document ?? '', by.reason ?? ''];
    const id = uuid5(`${accessStream(at)}/opened/${JSON.stringify(who)}`, this.options.installationId);
    if (this.known.has(id)) return;
    this.countCall(by.actor);
    await this.append([this.envelope({ type: 'EvidenceOpened', data }, { ...by, at, id })], at);
    this.keep(id);
  }

  /** @throws PedigreeError as `evidenceOpened`; then nothing may go out. */
  async exportBegun(event: ExportBegun, by: AccessBy): Promise<void> {
    this.countCall(by.actor);
    await this.record([event], by);
  }

  /**
   * An export whose bytes are known before they go out, with its end. The same bytes to the same caller, asked for in
   * the same way, are told once a UTC day. @throws PedigreeError as `evidenceOpened`; then nothing may go out.
   */
  async exported(begun: ExportBegun, end: Omit<ExportEnded['data'], 'exportId'>, by: AccessBy): Promise<void> {
    const at = this.options.clock.now();
    const { exportId: _, ...asked } = begun.data;
    const { kind, name, authenticatedBy } = by.actor;
    const which = JSON.stringify([kind, name, authenticatedBy, asked, end]);
    const id = uuid5(`${accessStream(at)}/export/${which}`, this.options.installationId);
    if (this.known.has(id)) return;
    this.countCall(by.actor);
    const ended: ExportEnded = { type: 'ExportEnded', data: { exportId: id, ...end } };
    await this.append(
      [
        this.envelope({ ...begun, data: { exportId: id, ...asked } }, { ...by, at, id }),
        this.envelope(ended, { ...by, at, id: uuid5('ended', id) }),
      ],
      at,
    );
    this.keep(id);
  }

  /** @throws PedigreeError `unavailable`. */
  async exportEnded(data: ExportEnded['data'], by: AccessBy): Promise<void> {
    await this.record([{ type: 'ExportEnded', data }], by);
  }

  /** `id`: the same again is the same event. @throws PedigreeError `unavailable`. */
  async keysRefused(data: ApiKeysRefused['data'], { id, ...by }: AccessBy & { id: string }): Promise<void> {
    const at = new Date(data.to);
    await this.append([this.envelope({ type: 'ApiKeysRefused', data }, { ...by, at, id })], at);
  }

  /**
   * The same upload again is the same event. @throws PedigreeError `unavailable`: then nobody may be given the file.
   */
  async stockUploaded(data: StockUploaded['data'], by: AccessBy): Promise<void> {
    const at = this.options.clock.now();
    const id = uuid5(`uploaded/${data.uploadId}/${data.openedAt}`, this.options.installationId);
    const event = this.envelope({ type: 'StockUploaded', data }, { ...by, at, id });
    await this.append([event], at, stockUploadStream(data.uploadId));
  }

  private keep(id: string): void {
    this.known.add(id);
    if (this.known.size > MOST_KNOWN) this.known.delete(this.known.values().next().value as string);
  }

  private async record(events: AccessEvent[], by: AccessBy): Promise<void> {
    const at = this.options.clock.now();
    const envelopes = events.map((event) => this.envelope(event, { ...by, at, id: randomUUID() }));
    await this.append(envelopes, at);
  }

  private async append(events: NewEvent[], at: Date, stream = accessStream(at)): Promise<void> {
    const { store, limitMs = LIMIT_MS } = this.options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`the log did not answer within ${limitMs} ms`)), limitMs);
    });
    try {
      await Promise.race([store.append(stream, 'any', events), late]);
    } catch {
      throw new PedigreeError(
        'unavailable',
        'the event log is away, and what cannot be recorded is not done; ask again later',
      );
    } finally {
      clearTimeout(timer);
    }
  }

  private envelope(event: AccessEvent, by: AccessBy & { at: Date; id: string }): NewEvent {
    const causationId = 'exportId' in event.data ? event.data.exportId : by.id;
    return newEvent(event, { says: this.options.says, ...by, correlationId: `access:${by.actor.name}`, causationId });
  }

  private countCall({ name, authenticatedBy }: Actor): void {
    const nowMs = this.options.clock.monotonicMs();
    const caller = `${authenticatedBy}:${name}`;
    const before = this.callers.get(caller);
    const entry =
      before === undefined || before.untilMs <= nowMs
        ? { accesses: 0, untilMs: nowMs + ACCESS_WINDOW_SECONDS * 1_000 }
        : before;
    entry.accesses += 1;
    this.callers.delete(caller);
    this.callers.set(caller, entry);
    if (this.callers.size > MOST_CALLERS) this.callers.delete(this.callers.keys().next().value as string);
    if (entry.accesses > MOST_ACCESSES)
      throw new PedigreeError(
        'too_many_accesses',
        `${name} has opened evidence or begun exports ${MOST_ACCESSES} times within ${ACCESS_WINDOW_SECONDS} s, ` +
          'and each is recorded; ask again after a pause',
        { field: 'Authorization' },
      );
  }
}
