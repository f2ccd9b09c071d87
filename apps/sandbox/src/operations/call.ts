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
  body: Buffer;
  arrival: Arrival;
  /** Base for links, as the caller sees this host. */
  base: string;
}

/** A call of a signed-in user. */
export interface UserCall extends Call {
  account: Account;
  token: string;
}

export type OpenOperation = (registry: Registry, call: Call) => Answer;
export type UserOperation = (registry: Registry, call: UserCall) => Answer;
