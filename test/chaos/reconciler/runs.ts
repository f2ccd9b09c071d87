import type { PackRunCompleted, PackRunStarted } from '#reconciliation';
import type { Expected } from './stock-files.js';

/** A run that was given, by a file or over HTTP. */
export interface MadeRun {
  runId: string;
  reason: string;
  /** What its file must lead to; undefined for one whose stock was compared before. */
  expected: Expected | undefined;
}

/** A run as the log has it. */
export interface LoggedRun extends MadeRun {
  started: PackRunStarted;
  completed: PackRunCompleted;
}
