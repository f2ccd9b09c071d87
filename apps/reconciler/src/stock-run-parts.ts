import type { EventStore } from '#event-store';
import type { Clock } from '#kernel';
import type { Pool } from '#postgres';
import type { CaseLogOptions, ComparingParts, DueDays } from '#reconciliation';
import type { SegmentSettings } from '#segments';
import type { ServiceLog } from '#service';
import type { StockRuns } from './config.js';
import type { Troubles } from './troubles.js';

/** What runs about packs are made with. */
export interface StockRunsParts {
  pool: Pool;
  store: EventStore;
  installation: CaseLogOptions['installation'];
  schedule: ComparingParts['schedule'];
  /** Absent: no folder is looked at. */
  stock: StockRuns | undefined;
  segments: SegmentSettings;
  dueDays: DueDays;
  log: ServiceLog;
  troubles: Troubles;
  clock: Clock;
  signal: AbortSignal;
  /** What the processes of the comparison run; default: the one beside it. */
  program?: string;
}

/** Who makes a run that nobody asked for. */
export const ACTOR = { authenticatedBy: 'process', kind: 'system', name: 'reconciler' } as const;
