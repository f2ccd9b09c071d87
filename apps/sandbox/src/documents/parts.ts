import type { VirtualTime } from '../clock/virtual-time.js';
import type { SandboxSettings } from '../config.js';
import type { Faults } from '../faults/faults.js';
import type { Journal } from '../journal/journal.js';
import type { World } from '../packs/world.js';
import type { Profile } from '../profile.js';
import type { DocumentStore } from './document-store.js';
import type { Processing } from './processing.js';

/** What of the registry the ways in for documents need. */
export interface IntakeParts {
  readonly clock: VirtualTime;
  readonly journal: Journal;
  readonly documents: DocumentStore;
  readonly processing: Processing;
  readonly faults: Faults;
  readonly profile: Profile;
  readonly settings: SandboxSettings;
  readonly world: World;
}
