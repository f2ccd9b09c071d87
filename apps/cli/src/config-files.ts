import { describeAccounts, readProfile } from '#registry-client';
import { readVariable } from '#service';
import { readCalendarFile } from '#read-models';
import type { CliConfig } from './config.js';

/**
 * Reads the files that the configuration names, so that a wrong one is told before anything is started. Returns what
 * may be shown of the accounts. Throws PedigreeError that names the variable.
 */
export function checkConfigFiles(config: CliConfig): ReturnType<typeof describeAccounts> {
  readProfile(config.registryProfile, config.registryProfileOverrides);
  const { deadlineCalendar } = config;
  if (deadlineCalendar !== undefined) readVariable('DEADLINE_CALENDAR', () => readCalendarFile(deadlineCalendar));
  return readVariable('PEDIGREE_ACCOUNTS', () => describeAccounts(config.accountsFile));
}
