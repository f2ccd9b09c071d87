import type { Clock } from '#kernel';
import type { CallOutcome, RawAnswer } from '../port.js';
import type { Profile } from '../profile.js';
import type { OperationName } from '../profile-names.js';
import type { CallManner, Reading } from './classify.js';
import type { Requests, RequestParts } from './requests.js';
import type { DownloadTo, Target } from './slot-caller.js';

/** One call of an operation: what goes out, how its outcomes are told apart, how a good answer is read. */
export interface OperationCall<T> {
  request: RequestParts | Target;
  manner: CallManner;
  read: (raw: RawAnswer) => Reading<T>;
  notAfterMonotonicMs?: number | undefined;
  /** A good answer goes to a file: `read` finds it in `file`, and no bytes in `body`. */
  into?: DownloadTo | undefined;
}

/** What every operation stands on: token, slot and call, by the profile. */
export interface Caller {
  readonly profile: Profile;
  readonly requests: Requests;
  /** For the waits between repeats of a reading. */
  readonly clock: Pick<Clock, 'wait'>;
  /** The address of a link that the registry gave, where the token may go. */
  link(link: string, operation: 'fetch_link' | 'upload_part'): Reading<Target>;
  call<T>(account: string, operation: OperationName, what: OperationCall<T>): Promise<CallOutcome<T>>;
}

/** A list, or a filter: no path of it can be absent. */
export const READ: CallManner = { changes: false, on404: 'refused' };
/** One thing, which may be absent or not yet visible. */
export const READ_ONE: CallManner = { changes: false, on404: 'absent' };
/** Where absence must be proven: a proxy's 404 proves nothing. */
export const READ_SURELY: CallManner = { changes: false, on404: 'absent_if_registry_says_so' };
/** Anything that must not be done twice. */
export const CHANGE: CallManner = { changes: true, on404: 'refused' };
