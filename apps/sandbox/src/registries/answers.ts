import type { Answer } from '../http/answer.js';
import { jsonAnswer } from '../http/answer.js';
import type { Registry } from '../registry.js';

/** A list of one may come as the bare object (public-facts 4), when the sandbox was started so. */
export const listed = <T>(registry: Registry, entries: T[]): T[] | T => (registry.settings.singleAs === 'object' && entries.length === 1 ? (entries[0] as T) : entries);

/** A page of entries and how many there are in all. */
export const entriesAnswer = (registry: Registry, entries: unknown[], total: number): Answer =>
  jsonAnswer(200, { entries: listed(registry, entries), [registry.profile.field('total')]: total });

/** Not found, or none of the caller's business (public-facts 1.9). */
export const NOT_FOUND = { error_code: 2, error_desc: 'Not found' } as const;
export const NOT_YOURS = { error_code: 4, error_desc: 'Open to the current owner and his counterparty only' } as const;
