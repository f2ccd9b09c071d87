import type { Sha256 } from '#kernel';

/** Why the registry's content of a container is not known to us. `no_answer`: it gave none, often enough. */
export const WITHHELD_REASONS = [
  'access_denied',
  'not_found',
  'refused',
  'not_understood',
  'too_large',
  'no_answer',
] as const;
export type WithheldReason = (typeof WITHHELD_REASONS)[number];

/** The incoming document by which a container came to us, or is on its way to us. */
export interface Arrival {
  documentId: string;
  docType: number;
  /** Who speaks in it, and the other side: places or system ids. */
  subjectId: string;
  counterpartyId?: string;
  /** When the registry accepted it; absent where no list said so. */
  acceptedAt?: string;
}

/** An incoming document names a container, and our record does not tell what lies in it: the registry is asked. */
export interface ContainerContentAsked {
  type: 'ContainerContentAsked';
  data: { sscc: string; account: string; arrival: Arrival };
}

/** The registry does not tell, for this reason, which is new. It is asked again. */
export interface ContainerContentWithheld {
  type: 'ContainerContentWithheld';
  data: Withheld;
}

interface Withheld {
  sscc: string;
  documentId: string;
  reason: WithheldReason;
  /** Answers so far. */
  attempts: number;
  /** Absent where there was no answer. */
  answerSha256?: Sha256;
}

/** The registry told what lies in the container. */
export interface ContainerContentObserved {
  type: 'ContainerContentObserved';
  data: {
    sscc: string;
    account: string;
    arrival: Arrival;
    /** By which operation of the profile it was asked. */
    operation: string;
    /** When the whole answer had arrived, ISO 8601 in UTC. */
    fetchedAt: string;
    /** The answer, byte for byte. */
    answerSha256: Sha256;
    /** What was read out of it (`ToldContent`): read the same way for ever, whatever a profile becomes. */
    contentSha256: Sha256;
    /** How many lie in it, however deep. */
    packs: number;
    containers: number;
  };
}

/** It was asked often enough: the content stays unknown. */
export interface ContainerContentUnavailable {
  type: 'ContainerContentUnavailable';
  data: Withheld;
}

export type ContainerEvent =
  ContainerContentAsked | ContainerContentWithheld | ContainerContentObserved | ContainerContentUnavailable;

export const CONTAINER_STREAM_PREFIX = 'container-';
export const containerStream = (sscc: string): string => `${CONTAINER_STREAM_PREFIX}${sscc}`;
export const ssccOfStream = (stream: string): string => stream.slice(CONTAINER_STREAM_PREFIX.length);
