import type { OutcomeData, OutcomeType } from './cloud-event.js';

/** What an outcome says, before it is put into its envelope. */
export interface OutcomePayload {
  type: OutcomeType;
  /** Routing key, for example `document.concluded.accepted`. */
  topic: string;
  subject: string;
  data: OutcomeData;
}
