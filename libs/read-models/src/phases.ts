/** Where a document stands, in the operator's words. */
export const DOCUMENT_PHASES = [
  'waiting',
  'held',
  'ready',
  'sending',
  'uploading',
  'unconfirmed',
  'sent',
  'received',
  'concluded',
] as const;
export type DocumentPhase = (typeof DOCUMENT_PHASES)[number];

/** Where a group stands, in the operator's words. */
export const GROUP_PHASES = [
  'waiting',
  'held',
  'sending',
  'checking',
  'starting',
  'unconfirmed',
  'started',
  'halted',
  'concluded',
] as const;
export type GroupPhase = (typeof GROUP_PHASES)[number];

/** Where a document of others stands; `ours`: it turned out to be one of our own. */
export const INBOUND_PHASES = ['followed', 'concluded', 'ours'] as const;
export type InboundPhase = (typeof INBOUND_PHASES)[number];
