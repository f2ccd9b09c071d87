import {
  suspensionsOf,
  type AccessEvent,
  type AccountEvent,
  type ApiKeyEvent,
  type CaseEvent,
  type DocumentEvent,
  type GroupEvent,
} from '#domain';
import type { RecordedEvent } from '#event-store';
import { defined, type JsonObject } from '#kernel';
import type { AccessKind } from './row.js';

/** What the log of access says of an event: what it was done to, and what else is worth a line. */
interface Told {
  kind: AccessKind;
  objects: string[];
  details: JsonObject;
}

/** More would make a row that nobody reads; the event has them. */
const MOST_FIELDS = 50;

type Telling = (event: RecordedEvent) => Told | undefined;

type Domain = AccessEvent | AccountEvent | ApiKeyEvent | CaseEvent | DocumentEvent | GroupEvent;
type DataOf<Type extends string> = Extract<Domain, { type: Type }>['data'];

/** A telling by the data of one type of event. */
const of =
  <Type extends Domain['type']>(_: Type, tell: (data: DataOf<Type>) => Told): Telling =>
  ({ data }) =>
    tell(data as unknown as DataOf<Type>);

/** Digests of keys are left out: who made a key, and what for, is told without them. */
const key =
  (...fields: string[]): Telling =>
  ({ data }) => ({
    kind: 'key',
    objects: [String(data['key'])],
    details: pick(data, fields),
  });

/** Decided by somebody who said why. Without a reason the same event is the system's own. */
const override =
  (...fields: string[]): Telling =>
  ({ stream, data, metadata }) =>
    metadata.reason === undefined ? undefined : decided(stream, pick(data, fields));

/** A hold that a person waived: in spite of which suspensions. */
const waived: Telling = (event) => {
  const { holds } = event.data as unknown as DataOf<'HoldWaived'>;
  const suspensions = suspensionsOf({ series: holds.flatMap((one) => (one.kind === 'suspension' ? one.series : [])) });
  return event.metadata.reason === undefined
    ? undefined
    : decided(event.stream, suspensions.length === 0 ? {} : { suspensions: suspensions.slice(0, MOST_FIELDS) });
};

/** The same, where whoever gives a command says it by the command itself. */
const waivesWait: Telling = ({ stream, data }) =>
  data['waivesItemWait'] === true
    ? decided(stream, { ...pick(data, ['commandId']), waives: 'the wait for earlier documents of the same items' })
    : undefined;

/** A stock that has shrunk below half is compared all the same. */
const confirmsStock: Telling = ({ stream, data }) =>
  data['stockConfirmed'] === true ? decided(stream, { confirms: 'a stock that has shrunk below half' }) : undefined;

const decided = (stream: string, details: JsonObject): Told => ({
  kind: 'override',
  objects: [objectOf(stream), ...Object.values(details).filter((one) => typeof one === 'string')].slice(0, 2),
  details,
});

/** `document-<request_id>` is the document; a stream of many things is itself. */
function objectOf(stream: string): string {
  const [, id] = /^(?:document|group|inbound|case|suspension|account|run)-(.+)$/.exec(stream) ?? [];
  return id ?? stream;
}

const pick = (data: JsonObject, fields: string[]): JsonObject =>
  Object.fromEntries(
    fields.flatMap((name) => {
      const value = data[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

const configuration: Telling = ({ data }) => {
  const changes = data['changes'] as { field: string }[];
  const fields = changes.slice(0, MOST_FIELDS).map((one) => one.field);
  const leftOut = changes.length - fields.length + Number(data['changesLeftOut'] ?? 0);
  return {
    kind: 'configuration',
    objects: [String(data['program']), ...fields],
    details: {
      ...pick(data, ['program', 'part', 'fromDigest', 'toDigest']),
      fields,
      ...(leftOut > 0 ? { leftOut } : {}),
    },
  };
};

/** Every type of event that tells who did what; a test holds the list against what is recorded with a reason. */
export const TELLINGS: Readonly<Record<string, Telling>> = {
  ApiKeyMade: key('roles', 'expiresAt'),
  ApiKeyAdopted: key('roles', 'expiresAt', 'madeAt'),
  ApiKeyFirstUsed: key('address'),
  ApiKeyRevoked: key(),
  ApiKeyExpired: key('expiresAt'),
  ApiKeyConfirmed: key('restorationId'),
  ApiKeysRefused: of('ApiKeysRefused', ({ from, to, refusals, others }) => ({
    kind: 'key',
    objects: [...new Set(refusals.flatMap((one) => [one.network, ...(one.key === undefined ? [] : [one.key])]))],
    details: defined({ from, to, refusals: refusals.map((one) => ({ ...one })), others }),
  })),

  EvidenceOpened: of('EvidenceOpened', ({ openedSha256, document, mediaType, byteLength, address }) => ({
    kind: 'evidence',
    objects: [openedSha256, ...(document === undefined ? [] : [document])],
    details: { mediaType, byteLength, address },
  })),
  ExportBegun: of('ExportBegun', ({ exportId, what, format, filter, address }) => ({
    kind: 'export',
    objects: [exportId, what, ...Object.values(filter)],
    // Whoever asks may name parameters as they like: the names of fields are ours.
    details: { what, format, filter: Object.entries(filter).map((one) => one.join('=')), address },
  })),
  ExportEnded: of('ExportEnded', ({ exportId, what, ...rest }) => ({
    kind: 'export',
    objects: [exportId, what],
    details: { what, ...defined(rest) },
  })),

  StockUploaded: of('StockUploaded', ({ uploadId, name, fileSha256, ...rest }) => ({
    kind: 'upload',
    objects: [uploadId, name, fileSha256],
    details: { name, fileSha256, ...defined(rest) },
  })),

  DocumentRegistered: waivesWait,
  GroupRegistered: waivesWait,
  DocumentHeld: override(),
  PackRunStarted: confirmsStock,
  MockRecallBegun: override('gtin', 'series'),
  HoldWaived: waived,
  GroupHoldWaived: override(),
  DocumentRefused: override(),
  GroupHalted: override('cause'),
  GroupConcluded: override('outcome'),
  DocumentResent: override(),
  GroupResumed: override(),
  AccountResumed: override(),
  InboundAskedAgain: override('account', 'parts'),
  CaseAcknowledged: override(),
  CaseAssigned: override('assignee'),
  CaseCommented: override(),
  CaseExplained: override(),
  CaseResolved: override(),
  CaseReopened: override(),
  CaseSplit: override(),
  CaseRemedyReleased: override('requestId'),
  SuspensionEntered: override('action', 'number'),
  SuspensionMatched: override(),
  SuspensionChanged: override('action', 'number'),
  SuspensionReplied: override('version'),
  SuspensionClosed: override(),
  SuspendedListConfirmed: override('listSha256'),
  TaskRetried: override('key'),
  ParkedRetried: override('key', 'saga'),
  OrphansReplanned: override(),
  DeadLetterReplayed: override('id', 'code'),
  DeadLetterDiscarded: override('id', 'code'),
  WebhookAdded: override('id', 'address'),
  WebhookRemoved: override('id'),
  WebhookResumed: override('id'),
  WebhookSecretChanged: override('id'),
  BackupRestored: override(),
  RestorationReleased: override(),
  AuditLogBroken: override('nextOrigin'),

  ConfigurationChanged: configuration,
};
