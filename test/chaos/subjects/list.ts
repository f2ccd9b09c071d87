import { afterChains } from './after-chains/after-chains.js';
import { audit } from './audit/audit.js';
import { badMessages } from './bad-messages/bad-messages.js';
import { burst } from './burst/burst.js';
import { corners } from './corners/corners.js';
import { documents } from './documents/documents.js';
import { evidence } from './evidence/evidence.js';
import { groups } from './groups/groups.js';
import { inbound } from './inbound/inbound.js';
import { itemWaits } from './item-waits/item-waits.js';
import { largeDocuments } from './large-documents/large-documents.js';
import { manners } from './manners/manners.js';
import { orphans } from './orphans/orphans.js';
import { outcomes } from './outcomes/outcomes.js';
import { readModels } from './read-models/read-models.js';
import { reconciliation } from './reconciliation/reconciliation.js';
import { repeats } from './repeats/repeats.js';
import { severalPredecessors } from './several-predecessors/several-predecessors.js';
import type { Subject } from './subject.js';

/** What a campaign feeds and checks, in this order. The last check may take the read models apart. */
export const subjects: Subject[] = [
  ...[documents, afterChains, severalPredecessors, itemWaits, groups, repeats, burst, largeDocuments, badMessages],
  ...[outcomes, inbound, evidence, manners, orphans, reconciliation, audit, corners, readModels],
];
