/**
 * A command that came over the bus and is never carried out. Its bytes are not in the log: they lie among the dead
 * letters.
 */
export interface CommandRefused {
  type: 'CommandRefused';
  data: {
    deadLetterId: string;
    /** What the publisher called the message. */
    messageId?: string;
    /** Absent where it could not be read. */
    commandId?: string;
    reference?: string;
    /** An error code of ours, or `delivery_limit`: our own code failed on it each time. */
    code: string;
    text: string;
    /** Where in the message the fault lies. */
    place?: { field?: string; line?: number; item?: string; element?: string };
    /**
     * Set on the last one of a day with too many: what is refused until then is found among the dead letters, and not
     * told.
     */
    silentUntil?: string;
  };
}

export const REFUSAL_STREAM_PREFIX = 'refusal-';
/** One stream for each message: that it does not exist yet is what lets a refusal be recorded once. */
export const refusalStream = (deadLetterId: string): string => `${REFUSAL_STREAM_PREFIX}${deadLetterId}`;
