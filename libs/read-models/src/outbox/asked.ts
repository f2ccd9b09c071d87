import { firstCommandOf, standsFor, type GroupRegistration, type Registration } from '#domain';
import { defined } from '#kernel';
import { toldWarnings } from './item-warnings.js';

/**
 * By what the ERP knows it: the command that it gave, and its reference. What was sent again names besides what it
 * replaces, and the command that did so where that has an id of its own.
 */
export function askedBy(of: Registration | GroupRegistration) {
  const { commandId: command_id, reference } = firstCommandOf(of);
  const resend_of = 'groupId' in of ? of.resumes?.groupId : standsFor(of)?.requestId;
  return {
    command_id,
    ...defined({ reference, resend_of }),
    ...(of.commandId === command_id ? {} : { resend_command_id: of.commandId }),
    ...(of.warnings === undefined ? {} : { warnings: toldWarnings(of.warnings) }),
  };
}
