import type { HeldRow } from '../document-outcomes/holds.js';

/** The predecessors that ended badly, as the ERP is told of them. */
export const heldForOf = ({ heldFor }: HeldRow) =>
  heldFor.map(({ commandId, requestId, outcome }) => ({ command_id: commandId, request_id: requestId, outcome }));
