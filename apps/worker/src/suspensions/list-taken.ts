import type { ListDoubt, ListVersion, SuspensionCommand } from '#domain';
import type { EvidenceStore } from '#evidence';
import type { Pool } from '#postgres';
import type { SuspendedListRepository, SuspensionRepository } from './repositories.js';

/** What taking a list over takes. */
export interface TakeContext {
  pool: Pool;
  evidence: EvidenceStore;
  profile: { name: string };
  suspensions: { one: SuspensionRepository; list: SuspendedListRepository };
  warn(about: object, message: string): void;
}

/** What was read is no list that can be taken over, however often that is tried. */
export class UnusableList extends Error {}

/** What follows from a list that was read whole. */
export interface ListTaken {
  /** Its content, and what counts with us from here on: canonical JSON of it is evidence. */
  content: object;
  inForce: object;
  figures: { series: number; packs: number; packsWithoutSeries: number; decisions?: number; notUnderstood?: number };
  /** When its first page came: what happened after that may be missing. */
  fetchedAt: Date;
  appeared: number;
  vanished: number;
  doubt: ListDoubt | undefined;
  commands(version: ListVersion): SuspensionCommand[];
}
