import type { DocumentOutcome } from '#domain';
import type { Pool } from '#postgres';
import type { Random } from '../../../apps/cli/src/sample/random.js';
import type { World } from '../../../apps/cli/src/sample/world.js';
import type { CampaignLog } from '../campaign-log.js';
import type { Corners } from './corners/reached.js';
import type { Orphan } from './orphans/find-orphans.js';

/** `any`: the order of the log decides how it ends. */
export type WantedOutcome = DocumentOutcome | 'any';
/**
 * How the ERP must be answered. `taken`: acknowledged, and concluded so. `refused`: told why, by HTTP at once or by a
 * dead letter.
 */
type Expectation = { kind: 'taken'; outcome: WantedOutcome } | { kind: 'refused'; code: string };

/** One message of the ERP. */
export interface Message {
  /** Names it in the record; unique. */
  key: string;
  /** When it is given, in ms after the campaign's start. */
  atMs: number;
  via: 'http' | 'amqp';
  body: Buffer;
  contentType?: string;
  /** Absent on what is not a command. */
  commandId?: string;
  /** The documents that follow from it, where that is not the one of its own id. */
  documents?: { commandId: string; outcome: DocumentOutcome }[];
  /** Commands that it names as earlier ones. */
  after?: string[];
  /** Not given before this other message was acknowledged. */
  followsKey?: string;
  expect: Expectation;
}

/** A message with what became of it on its way in. */
export interface Fed extends Message {
  /** When the ERP was told that it is kept, in ms after the start: by the answer, or by the broker's confirm. */
  acknowledgedMs?: number;
  /** The code of a refusal over HTTP. */
  refusedCode?: string;
  attempts: number;
}

/** Something that is ordered at the sandbox's control port, or at a gateway, as POST. */
export interface Stir {
  atMs: number;
  to?: 'gateway';
  path: string;
  body: object;
}

export interface LoadContext {
  seed: number;
  /** Of this subject alone: another subject's load changes nothing in it. */
  random: Random;
  world: World;
  accounts: string[];
  /** Three characters of A-Z and 0-9; two more of its own make a subject's packs different from any other's. */
  run: string;
  /** Commands wanted of all subjects together. */
  documents: number;
  lastsMs: number;
  /** When the first pause of a worker begins, in ms after the start. */
  longPauseAtMs: number;
  /** Whether there is a broker to publish to. */
  hasBroker: boolean;
}

/** A document as the registry knows it (control port, GET /truth/documents). */
export interface TruthDocument {
  seq: number;
  request_id: string;
  document_id: string;
  /** Absent on what did not come through the API. */
  account: string | null;
  /** Keys of participants; a receiver is named on what came to him. */
  sender: string;
  doc_type: number | null;
  status: string;
  result: string | null;
  accepted_at: string;
  processed_at: string | null;
  receiver: string | null;
  notice_of: string | null;
  upload_type: number;
  sends: number;
}

/** A document as Pedigree tells of it (GET /v1/documents). */
export interface OurDocument {
  commandId: string;
  requestId: string;
  documentId?: string;
  phase: string;
  outcome?: DocumentOutcome;
}

/** An outcome as the ERP heard it, a CloudEvent. */
export interface OutcomeMessage {
  id: string;
  subject: string;
  sequence: string;
  body: Buffer;
  /** What it said when it was heard before. */
  repeated?: Buffer;
}

/** What can be looked at while everything still runs. */
export interface Meanwhile {
  registry(): Promise<TruthDocument[]>;
  log: CampaignLog;
  heard: Ended['heard'];
}

/** A message that Pedigree put aside (GET /v1/operations/dead-letters). */
export interface DeadLetter {
  messageId?: string;
  code: string;
  reason: string;
}

/** What there is to check when everything has come to rest. */
export interface Ended {
  fed: Fed[];
  /** Everything that Pedigree knows, by request_id. */
  ours: Map<string, OurDocument>;
  registry: TruthDocument[];
  /** What the ERP heard, in its order, by the way it came. */
  heard: Record<string, OutcomeMessage[]>;
  /** Undefined without a broker. */
  deadLetters: DeadLetter[] | undefined;
  /** GET of the sandbox's control port. */
  truth<T>(path: string): Promise<T>;
  /** The database; the programs are stopped. */
  pool: Pool;
  /** The event log, in the database or on a server: read through the port alone. */
  log: CampaignLog;
  installation: string;
  requestIdOf(commandId: string): string;
  /** Documents that were stuck at any time. */
  orphans: Orphan[];
  corners: Corners;
  /** What was asked for. */
  seed: number;
  minutes: number;
  kills: number;
}

/**
 * One thing that a campaign feeds, or checks, or both. A new one is a folder here and a line in list.ts. A check gives
 * a sentence for each fault that it finds; none is good.
 */
export interface Subject {
  name: string;
  load?(context: LoadContext): Message[];
  /** What others do at the registry meanwhile. */
  stir?(context: LoadContext): Stir[];
  /**
   * How much is still to come before there is anything to check; besides messages, documents, tasks and subscriptions.
   */
  unrest?(of: Meanwhile): Promise<number>;
  check?(ended: Ended): Promise<string[]>;
  /** Kinds of tasks that come again for ever: they do not keep a campaign from coming to rest. */
  recurring?: string[];
}

const MOST_NAMED = 10;

/** Sentences for the first of many. */
export function complaints<T>(of: Iterable<T>, sentence: (one: T) => string | undefined): string[] {
  const all: string[] = [];
  for (const one of of) {
    const said = sentence(one);
    if (said !== undefined) all.push(said);
  }
  return all.length <= MOST_NAMED ? all : [...all.slice(0, MOST_NAMED), `… and ${all.length - MOST_NAMED} more`];
}
