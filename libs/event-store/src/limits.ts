import { PedigreeError } from '#kernel';
import type { EventFilter, ExpectedVersion, NewEvent } from './port.js';

/** What a caller asks for, as one value. */
export interface Append {
  stream: string;
  expectedVersion: ExpectedVersion;
  events: NewEvent[];
}

/** What one append, one batch and one read may hold at most. */
export interface EventStoreLimits {
  maxDataBytes: number;
  maxMetadataBytes: number;
  maxStreamNameBytes: number;
  maxEventsPerAppend: number;
  /** Events and bytes that one call to the server carries. */
  maxBatchEvents: number;
  maxBatchBytes: number;
  /** Appends that one call to the server carries, and that may wait for the next one. */
  maxBatchAppends: number;
  maxWaitingAppends: number;
  maxReadLimit: number;
  maxFilterTerms: number;
}

export const DEFAULT_LIMITS: EventStoreLimits = {
  maxDataBytes: 1024 * 1024,
  maxMetadataBytes: 64 * 1024,
  maxStreamNameBytes: 512,
  maxEventsPerAppend: 1_000,
  maxBatchEvents: 2_000,
  maxBatchBytes: 8 * 1024 * 1024,
  maxBatchAppends: 1_000,
  maxWaitingAppends: 10_000,
  maxReadLimit: 10_000,
  maxFilterTerms: 200,
};

/** The limits that these options name, and the usual ones for the others. */
export function limitsOf(options: Partial<EventStoreLimits>): EventStoreLimits {
  const given = Object.entries(options).filter(([name, value]) => name in DEFAULT_LIMITS && value !== undefined);
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(given) };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Control characters would hide in names; a lone surrogate has no UTF-8 form and would be stored as something else. */
const UNFIT_FOR_A_NAME = /[\p{Cc}\p{Cs}]/u;
const MAX_INT = 2 ** 31 - 1;

const refuse = (message: string, field: string): never => {
  throw new PedigreeError('invalid_parameter', message, { field });
};

function checkName(name: string, field: string, maxBytes: number): void {
  if (typeof name !== 'string' || name === '') refuse(`${field} must not be empty`, field);
  if (UNFIT_FOR_A_NAME.test(name))
    refuse(`${field} has a control character or half a surrogate pair: ${JSON.stringify(name)}`, field);
  // A UTF-16 unit takes at most three bytes: the exact length is only counted where it could matter.
  if (name.length * 3 > maxBytes && Buffer.byteLength(name) > maxBytes)
    refuse(`${field} is longer than ${maxBytes} bytes`, field);
}

/**
 * Refuses an append that could never be stored, before it can spoil the batch it would travel in. Throws PedigreeError
 * `invalid_parameter`.
 */
export function checkAppend({ stream, expectedVersion: expected, events }: Append, limits: EventStoreLimits): void {
  checkName(stream, '/stream', limits.maxStreamNameBytes);
  const known =
    expected === 'none' || expected === 'any' || (Number.isInteger(expected) && expected >= 0 && expected < MAX_INT);
  if (!known)
    refuse(`expected version ${String(expected)} is not none, any or a whole number from 0`, '/expectedVersion');
  if (events.length === 0) refuse('an append needs at least one event', '/events');
  if (events.length > limits.maxEventsPerAppend)
    refuse(`an append holds at most ${limits.maxEventsPerAppend} events, not ${events.length}`, '/events');
  const ids = new Set<string>();
  events.forEach((event, n) => {
    if (!UUID.test(event.id)) refuse(`event id ${JSON.stringify(event.id)} is not a UUID`, `/events/${n}/id`);
    if (ids.size === ids.add(event.id.toLowerCase()).size)
      refuse(`event id ${event.id} occurs twice in one append`, `/events/${n}/id`);
    checkName(event.type, `/events/${n}/type`, limits.maxStreamNameBytes);
    const version = event.schemaVersion;
    if (!Number.isInteger(version) || version < 1 || version > MAX_INT)
      refuse(`schema version ${version} is not a whole number from 1`, `/events/${n}/schemaVersion`);
  });
}

/** Refuses a read beyond its limits. Throws PedigreeError `invalid_parameter`. */
export function checkRead(limit: number, filter: EventFilter | undefined, limits: EventStoreLimits): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > limits.maxReadLimit)
    refuse(`a read takes 1 to ${limits.maxReadLimit} events, not ${limit}`, '/limit');
  for (const [field, terms] of Object.entries(filter ?? {}) as [string, string[] | undefined][]) {
    if (terms === undefined) continue;
    // An empty list could mean all or nothing; the caller says which by leaving it out.
    if (terms.length === 0) refuse(`filter ${field} must not be an empty list`, `/filter/${field}`);
    if (terms.length > limits.maxFilterTerms)
      refuse(`filter ${field} has more than ${limits.maxFilterTerms} entries`, `/filter/${field}`);
    terms.forEach((term, n) => checkName(term, `/filter/${field}/${n}`, limits.maxStreamNameBytes));
  }
}

/** Positions are signed 64-bit numbers. EventStoreDB tells of 2^64 - 1 where a filtered log has no event yet. */
export const MOST_POSITION = 2n ** 63n - 1n;
/** Whether an event can be at this position. */
export const isPosition = (position: bigint): boolean => position >= 1n && position <= MOST_POSITION;
