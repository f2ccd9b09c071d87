import type { CaseRun } from '#domain';
import type { Duck, DuckOptions } from '#duckdb';
import type { Sha256 } from '#kernel';
import type { Queryable } from '#postgres';
import type { RunRecord } from '../comparison/run-record.js';
import type { CaseAct, CaseLog } from './case-log.js';
import type { DueDays } from './opening.js';

export interface PackCasesOptions {
  db: Queryable;
  log: CaseLog;
  dueDays: DueDays;
  duck: Omit<DuckOptions, 'temporary'>;
  /** Who has the cases opened. */
  actor: CaseAct['actor'];
  reason?: string;
  /** A run whose moment is to come opens none. */
  now: Date;
  /** A person says that cases open though the registry's side is a file, and nobody asked the registry. */
  unconfirmed?: boolean;
  /** A run of a later moment has looked at the same: what it has not found opens no case any more. */
  onlyKnown?: boolean;
  /** Folders of earlier runs, beside those that lie beside the folder. */
  earlier?: string[];
  /** Of cases whose items are not at hand, and of files that are damaged. */
  onWarning?: (text: string) => void;
  onProgress?: (done: number, all: number) => void;
}

/** What one opening is made of. */
/** The sides of a run, of which rules may be asked. */
export type OpenedRun = Pick<PackOpening, 'duck' | 'record' | 'isOpen'>;

export interface PackOpening {
  options: PackCasesOptions;
  duck: Duck;
  folder: string;
  record: RunRecord;
  /** Whether rules can be asked about its sides: not of those of a version before. */
  isOpen: boolean;
  run: CaseRun;
  findingsSha256: Sha256;
  act: CaseAct;
}
