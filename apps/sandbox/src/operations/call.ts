import type { IncomingHttpHeaders } from 'node:http';
import type { Arrival } from '../clock/arrivals.js';
import type { Answer } from '../http/answer.js';
import type { Account } from '../packs/world.js';
import type { Registry } from '../registry.js';

/** A call that reached its operation. */
export interface Call {
  /** Key of the profile's operations. */
  method: string;
  verb: string;
  params: Record<string, string>;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Buffer;
  arrival: Arrival;
  /** Base for links, as the caller sees this host. */
  base: string;
}

/** A call of a signed-in user. */
export interface UserCall extends Call {
  account: Account;
  token: string;
  /** The call lands after its connection ended; what it meets meanwhile is not the caller's doing. */
  late?: boolean;
}

export type OpenOperation = (registry: Registry, call: Call) => Answer;
export type UserOperation = (registry: Registry, call: UserCall) => Answer;
/** One whose answer takes work that others should not wait for. */
export type SlowUserOperation = (registry: Registry, call: UserCall) => Promise<Answer>;
