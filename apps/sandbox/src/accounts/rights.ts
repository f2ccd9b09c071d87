import { refuse } from '../http/refusal.js';
import type { Account } from '../packs/world.js';

/** The rights that public clients name (public-facts 1.6), and the operations that want them. There are more. */
const RIGHTS = {
  UPLOAD_DOCUMENT: {
    description: 'send, upload, group and cancel documents',
    operations: ['send', 'send_large', 'upload_part', 'send_finished', 'cancel', 'group_check', 'group_start'],
  },
  DOWNLOAD_DOCUMENT: {
    description: 'download documents and receipts',
    operations: ['download', 'receipt', 'fetch_link', 'document_signature'],
  },
  INCOME_LIST: { description: 'list incoming documents', operations: ['list_incoming', 'mark_read'] },
  OUTCOME_LIST: { description: 'list outgoing documents', operations: ['list_outgoing'] },
  REESTR_SGTIN: {
    description: 'read the registers of packs',
    operations: ['sgtins', 'sgtins_by_list', 'sgtin', 'sgtin_documents', 'archived_sgtin', 'archived_sgtin_documents'],
  },
  REESTR_PARTNERS: { description: 'read the register of partners', operations: ['partners'] },
} as const;

type Right = keyof typeof RIGHTS;
export const RIGHT_NAMES = Object.keys(RIGHTS) as Right[];

/** Every right with what it allows. */
export const describedRights = (): { right: Right; description: string }[] =>
  RIGHT_NAMES.map((right) => ({ right, description: RIGHTS[right].description }));

/** A user has every right, unless some were named. */
export const rightsOf = ({ rights }: Account): readonly string[] => rights ?? RIGHT_NAMES;

const WANTED = new Map<string, Right>(
  RIGHT_NAMES.flatMap((right) => RIGHTS[right].operations.map((operation) => [operation, right] as const)),
);

/** Throws a 403 to a user who lacks the right to an operation (public-facts 1.1). */
export function refuseWithoutRight(account: Account, operation: string): void {
  const right = WANTED.get(operation);
  if (right !== undefined && !rightsOf(account).includes(right)) throw refuse(403, `the right ${right} is missing`);
}

/** The list of rights as it was given. Throws a 400 that names those that there are. */
export function knownRights(given: unknown): Right[] {
  if (!Array.isArray(given) || given.some((one) => !RIGHT_NAMES.includes(one as Right)))
    throw refuse(400, `rights is a list of some of ${RIGHT_NAMES.join(', ')}`);
  return given as Right[];
}
