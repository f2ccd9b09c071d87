/** An event of the log as a saga gets it. */
export interface SagaEvent {
  stream: string;
  /** Its place in the stream. */
  version: number;
  /** Its place in the log. */
  position: bigint;
  type: string;
  data: object;
  /** The database's time at which the event's page is handled. */
  handledAt: Date;
}

/** The stream prefix tells the noun, and the noun's decider alone writes there: so type and data are the noun's. */
export const eventIn = <Event extends { type: string; data: object }>(
  recorded: Pick<SagaEvent, 'type' | 'data'>,
): Event => recorded as Event;
