import type { OpenOperation, UserOperation } from './call.js';
import { download, fetchLink, findByRequestId, listIncoming, listOutgoing, receipt, status } from './reads.js';
import { send } from './send.js';
import { signInCode, signInToken, signOut } from './sign-in.js';

/** Operations that need no token. */
export const OPEN_OPERATIONS: Record<string, OpenOperation> = { sign_in_code: signInCode, sign_in_token: signInToken };

/** Operations of a signed-in user, by the profile's keys. */
export const USER_OPERATIONS: Record<string, UserOperation> = {
  sign_out: signOut,
  send,
  status,
  list_outgoing: listOutgoing,
  list_incoming: listIncoming,
  find_by_request_id: findByRequestId,
  receipt,
  download,
  fetch_link: fetchLink,
};

/** Methods that the interface calls deprecated (9); calling one is a violation. */
export const DEPRECATED = new Set(['POST /users/find', 'GET /reestr/branches']);
/** Where the web cabinet's own methods live (1); calling one is a violation. */
export const INTERNAL_PREFIXES = ['/web/', '/cabinet/'];
