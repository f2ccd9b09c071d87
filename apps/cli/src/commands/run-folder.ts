import { join, resolve } from 'node:path';
import { PedigreeError } from '#kernel';
import { runsFolder } from '#reconciliation';
import type { CliConfig } from '../config.js';
import { segmentSettings } from './segment-settings.js';

export const isRunId = (text: string): boolean => /^[0-9a-f-]{36}$/.test(text);

/** Of a run that has an id. @throws PedigreeError `invalid_parameter`. */
export function runFolder(config: CliConfig, runId: string): string {
  if (!isRunId(runId)) throw new PedigreeError('invalid_parameter', `${runId} is not an id of a run`, {});
  return join(runsFolder(segmentSettings(config).folder), runId);
}

/** Where the comparison of a run lies: the run is named by its id or, where it was made by steps, by its folder. */
export const comparisonFolder = (config: CliConfig, run: string): string =>
  isRunId(run) ? join(runFolder(config, run), 'comparison') : resolve(run);
