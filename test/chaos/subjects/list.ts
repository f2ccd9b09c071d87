import { afterChains } from './after-chains/after-chains.js';
import { badMessages } from './bad-messages/bad-messages.js';
import { documents } from './documents/documents.js';
import { evidence } from './evidence/evidence.js';
import { groups } from './groups/groups.js';
import { inbound } from './inbound/inbound.js';
import { manners } from './manners/manners.js';
import { outcomes } from './outcomes/outcomes.js';
import { readModels } from './read-models/read-models.js';
import { repeats } from './repeats/repeats.js';
import type { Subject } from './subject.js';

/** What a campaign feeds and checks, in this order. The last check may take the read models apart. */
export const subjects: Subject[] = [documents, afterChains, groups, repeats, badMessages, outcomes, inbound, evidence, manners, readModels];
