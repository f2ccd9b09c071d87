import { PedigreeError } from '#kernel';
import type { NewTask } from './port.js';
import { KIND_SEPARATOR } from './queue-sql.js';

export const DEFAULT_PRIORITY = 100;
const LONGEST_NAME = 400;
const LONGEST_PAYLOAD = 256 * 1024;

/** Refuses what would be cut or mixed up; the place names the key. */
export function checkTask(task: NewTask): void {
  const refuse = (what: string): never => {
    throw new PedigreeError('internal', `task ${task.key.slice(0, 80)}: ${what}`, { item: task.key.slice(0, 80) });
  };
  for (const name of ['key', 'kind', 'lane'] as const) {
    if (task[name].length === 0 || task[name].length > LONGEST_NAME)
      refuse(`${name} must have 1 to ${LONGEST_NAME} characters`);
    if (task[name].includes('\0') || task[name].includes(KIND_SEPARATOR)) refuse(`${name} holds a control character`);
  }
  if (!Number.isFinite(task.dueAt.getTime())) refuse('dueAt is not a date');
  const priority = task.priority ?? DEFAULT_PRIORITY;
  if (!Number.isInteger(priority) || Math.abs(priority) > 32_767)
    refuse(`priority ${priority} is not a whole number of 16 bits`);
}

/** The payload as it is stored; refused where it is too long. */
export function payloadText(task: NewTask): string {
  const text = JSON.stringify(task.payload);
  if (text.length > LONGEST_PAYLOAD) {
    throw new PedigreeError(
      'internal',
      `task ${task.key}: payload of ${text.length} characters, at most ${LONGEST_PAYLOAD} are allowed`,
      { item: task.key },
    );
  }
  return text;
}

/** Throws PedigreeError `internal` for a task that `schedule` would refuse. */
export function refuseUnfit(task: NewTask): void {
  checkTask(task);
  payloadText(task);
}
