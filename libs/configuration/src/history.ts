import type { Actor, EventStore } from '#event-store';
import {
  configurationEvents,
  isChange,
  type ConfigurationChanged,
  type ConfigurationPart,
  type RecordedChanged,
} from './event.js';
import { REASON_NOT_GIVEN } from './record.js';

/** One recorded change, with who and why. */
export interface RecordedChange extends ConfigurationChanged {
  /** Its place in the stream, from 0. */
  version: number;
  position: bigint;
  at: Date;
  actor: Actor;
  reason: string;
  softwareVersion: string;
}

export interface HistoryQuery {
  program?: string | undefined;
  part?: ConfigurationPart | undefined;
  /** Only what came before this place in the stream. */
  before?: number | undefined;
  limit: number;
}

/**
 * Changes of settings, newest first: the last `limit` that fit. `hasMore` when older ones fit too. Reads the whole
 * stream, of which it holds no more than it answers.
 */
export async function configurationHistory(
  store: Pick<EventStore, 'readStream'>,
  query: HistoryQuery,
): Promise<{ changes: RecordedChange[]; hasMore: boolean }> {
  const newest: RecordedChange[] = [];
  let hasMore = false;
  for await (const event of configurationEvents(store)) {
    if (query.before !== undefined && event.version >= query.before) break;
    if (!isChange(event) || !fits(event.data, query)) continue;
    newest.push(changeOf(event));
    if (newest.length > query.limit) hasMore = newest.shift() !== undefined;
  }
  return { changes: newest.reverse(), hasMore };
}

const fits = (changed: ConfigurationChanged, { program, part }: HistoryQuery): boolean =>
  (program === undefined || changed.program === program) && (part === undefined || changed.part === part);

function changeOf({ version, position, recordedAt, data, metadata }: RecordedChanged): RecordedChange {
  const { actor, reason = REASON_NOT_GIVEN, softwareVersion } = metadata;
  return { ...data, version, position, at: recordedAt, actor, reason, softwareVersion };
}
