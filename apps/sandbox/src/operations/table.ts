import { REGISTRY_OPERATIONS } from '../registries/table.js';
import type { OpenOperation, SlowUserOperation, UserOperation } from './call.js';
import { FURTHER_OPERATIONS } from './further.js';
import { download, fetchLink, findByRequestId, listIncoming, listOutgoing, receipt, status } from './reads.js';
import { groupCheck, groupStart } from '../groups/operations.js';
import { cancel, documentSize, sendFinished, sendLarge, uploadPart } from '../uploads/operations.js';
import { send } from './send.js';
import { signInCode, signInToken, signOut } from './sign-in.js';

/** Operations that need no token. */
export const OPEN_OPERATIONS: Record<string, OpenOperation> = { sign_in_code: signInCode, sign_in_token: signInToken };

/** Operations of a signed-in user, by the profile's keys. */
export const USER_OPERATIONS: Record<string, UserOperation | SlowUserOperation> = {
  sign_out: signOut,
  send,
  document_size: documentSize,
  send_large: sendLarge,
  upload_part: uploadPart,
  send_finished: sendFinished,
  cancel,
  group_check: groupCheck,
  group_start: groupStart,
  status,
  list_outgoing: listOutgoing,
  list_incoming: listIncoming,
  find_by_request_id: findByRequestId,
  receipt,
  download,
  fetch_link: fetchLink,
  ...REGISTRY_OPERATIONS,
  ...FURTHER_OPERATIONS,
};

/** Where the web cabinet's own methods live (1); calling one is a violation. */
export const INTERNAL_PREFIXES = ['/web/', '/cabinet/'];
