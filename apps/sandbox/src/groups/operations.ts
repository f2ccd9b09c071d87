import { randomUUID } from 'node:crypto';
import { canonicalUuid, isUuid } from '#kernel';
import type { RegistryDocument } from '../documents/document.js';
import { jsonAnswer } from '../http/answer.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import type { UserCall, UserOperation } from '../operations/call.js';
import type { Registry } from '../registry.js';

const MAX_MEMBERS = 1000;

/**
 * POST documents/bulk/check: whether a group can be started (registry-interface 4.1). Body and answer are the sandbox's
 * own decision, for no public client shows them: { request_ids } -> { can_start, error_description? }. A body that is
 * no list of ids gets 400.
 */
export const groupCheck: UserOperation = (registry, call) => {
  const { profile } = registry;
  const requestIds = requestIdsOf(registry, call);
  delay(registry, membersOf(registry, call, requestIds));
  const found = membersOf(registry, call, requestIds);
  const failure = typeof found === 'string' ? found : undefined;
  if (failure === undefined) registry.intake.groups.noteChecked(call.account.name, requestIds);
  return jsonAnswer(200, {
    [profile.field('can_start')]: failure === undefined,
    ...(failure === undefined ? {} : { [profile.field('error_description')]: failure }),
  });
};

/**
 * POST documents/bulk: starts the group, in the order of the list: { request_ids } -> { documents: [{ request_id,
 * document_id }] }, or 400 with what is wrong.
 */
export const groupStart: UserOperation = (registry, call) => {
  const { profile } = registry;
  // What is due is done first, so that a replay meets the same state.
  registry.processing.drainNow();
  const requestIds = requestIdsOf(registry, call);
  const members = membersOf(registry, call, requestIds);
  if (typeof members === 'string') throw refuse(400, members);
  // What was sent before a restart may have been checked before it, too.
  const isOfThisLife = members.some((one) => one.answeredRealMs >= registry.openedRealMs);
  if (isOfThisLife && !registry.intake.groups.wasChecked(call.account.name, requestIds)) {
    registry.violations.record('group_unchecked', {
      call: call.method,
      account: call.account.name,
      note: requestIds[0] as string,
    });
  }
  registry.intake.startGroup(randomUUID(), members);
  const documents = members.map((one) => ({
    [profile.field('request_id')]: one.requestId,
    [profile.field('document_id')]: one.documentId,
  }));
  return jsonAnswer(200, { [profile.field('documents')]: documents });
};

/** Misbehaviour: documents that could be started are still being taken in. A restart forgets that. */
function delay({ faults, clock }: Registry, members: RegistryDocument[] | string): void {
  if (typeof members === 'string') return;
  const delayMs = faults.take('group_not_ready', 'group_check');
  if (delayMs === undefined) return;
  for (const member of members) member.readyFromVirtualMs = clock.nowMs() + delayMs;
}

function requestIdsOf({ profile }: Registry, call: UserCall): string[] {
  const name = profile.field('request_ids');
  const ids = jsonObjectOf(call.body)[name];
  if (!Array.isArray(ids) || ids.length === 0)
    throw refuse(400, `${name} must be a list of the request_ids of the group, in order`);
  if (ids.length > MAX_MEMBERS) throw refuse(400, `${name} holds more than ${MAX_MEMBERS} ids`);
  const wrong: unknown = ids.find((id) => typeof id !== 'string' || !isUuid(id));
  if (wrong !== undefined) throw refuse(400, `${name} holds ${JSON.stringify(wrong)}, which is no GUID`);
  return ids as string[];
}

/** The documents of a group that can be started, or why it cannot. */
function membersOf(registry: Registry, call: UserCall, requestIds: string[]): RegistryDocument[] | string {
  if (new Set(requestIds.map(canonicalUuid)).size < requestIds.length) return 'a request_id is named twice';
  const members: RegistryDocument[] = [];
  for (const requestId of requestIds) {
    const document = registry.documents
      .withRequestId(requestId)
      .find((one) => one.account !== undefined && one.sender === call.account.participant.key);
    const failure = whyNoMember(document, call, registry.clock.nowMs());
    if (failure !== undefined || document === undefined) return `${requestId}: ${failure}`;
    members.push(document);
  }
  return members;
}

function whyNoMember(document: RegistryDocument | undefined, call: UserCall, virtualMs: number): string | undefined {
  if (document === undefined) return 'there is no document with this request_id';
  if (document.account !== call.account.name) return 'the document was sent by another user; a group is of one user';
  if (!document.bulk) return 'the document was not sent with bulk_processing';
  if (document.cancelled) return 'the document was cancelled';
  if (document.group !== undefined) return 'the group of this document was started before';
  const isTakenIn = document.waits !== 'upload' && document.readyFromVirtualMs <= virtualMs;
  return isTakenIn ? undefined : 'the document is not uploaded yet';
}
