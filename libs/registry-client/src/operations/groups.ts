import { PedigreeError } from '#kernel';
import { doneOf, objectOf } from '../call/answers.js';
import { CHANGE, READ, type Caller } from '../call/caller.js';
import type { Reading } from '../call/classify.js';
import { oneLine } from '../call/error-body.js';
import type { CallOutcome, RawAnswer } from '../port.js';

/** Whether a group can be started now, and in the registry's words why not. */
export type GroupCheck = { canStart: true } | { canStart: false; reason: string };

/**
 * Groups that are processed in order (registry-interface 4.1). Their members were sent with bulk_processing true. What
 * check and start carry is not shown; here it is their request_ids in the order of processing, as the profile's
 * `request_ids`.
 */
export class Groups {
  constructor(private readonly caller: Caller) {}

  /** @throws PedigreeError invalid_parameter for no members. */
  async check(account: string, requestIds: string[]): Promise<CallOutcome<GroupCheck>> {
    const { profile } = this.caller;
    const read = (raw: RawAnswer): Reading<GroupCheck> => {
      const json = objectOf(raw, profile);
      if ('problem' in json) return json;
      const { [profile.fields.can_start]: canStart, [profile.fields.error_description]: reason } = json.value;
      if (canStart === true) return { value: { canStart } };
      if (canStart === false) return { value: { canStart, reason: typeof reason === 'string' ? oneLine(reason) : '' } };
      return { problem: `"${profile.fields.can_start}" is neither true nor false` };
    };
    return this.caller.call(account, 'group_check', {
      request: this.request('group_check', requestIds),
      manner: READ,
      read,
    });
  }

  /**
   * After an outcome `unknown` the members' statuses tell whether it has begun; it is not to be started again before.
   * Nothing is written after `notAfterMonotonicMs` by the client's clock: then it ends as `not_sent`. @throws
   * PedigreeError invalid_parameter.
   */
  async start(
    account: string,
    requestIds: string[],
    { notAfterMonotonicMs }: { notAfterMonotonicMs?: number } = {},
  ): Promise<CallOutcome<null>> {
    const { profile } = this.caller;
    return this.caller.call(account, 'group_start', {
      request: this.request('group_start', requestIds),
      manner: CHANGE,
      read: (raw) => doneOf(raw, profile),
      notAfterMonotonicMs,
    });
  }

  private request(name: 'group_check' | 'group_start', requestIds: string[]): ReturnType<Caller['requests']['plain']> {
    if (requestIds.length === 0)
      throw new PedigreeError('invalid_parameter', 'a group has at least one document', { field: 'requestIds' });
    return this.caller.requests.plain(name, {}, { [this.caller.profile.fields.request_ids]: requestIds });
  }
}
