import { spoiledPage } from '../misbehaviour/pages.js';
import { jsonAnswer, type Answer } from '../http/answer.js';
import { coded } from '../http/said.js';
import type { UserCall } from '../operations/call.js';
import type { Registry } from '../registry.js';

/** A list of one may come as the bare object (public-facts 4), when the sandbox was started so. */
export const listed = <T>(registry: Registry, entries: T[]): T[] | T =>
  registry.settings.singleAs === 'object' && entries.length === 1 ? (entries[0] as T) : entries;

interface Shown {
  entries: unknown[];
  total: number;
}

/** A page as it goes out: misbehaviour may spoil it and claim another total. */
export function shown(
  registry: Registry,
  { method }: UserCall,
  { entries, total }: Shown,
): { entries: unknown; total: number } {
  const { faults } = registry;
  const spoiled = spoiledPage(faults, method, entries);
  return { entries: listed(registry, spoiled), total: total + (faults.take('total_changes', method) ?? 0) };
}

/** A page of entries and how many there are in all. */
export function entriesAnswer(registry: Registry, call: UserCall, page: Shown): Answer {
  const { entries, total } = shown(registry, call, page);
  return jsonAnswer(200, registry.profile.named({ entries, total }));
}

/** Not found, or none of the caller's business (public-facts 1.9). */
export const notFound = ({ settings }: Registry) => coded(2, settings.language);
export const notYours = ({ settings }: Registry) => coded(4, settings.language);
