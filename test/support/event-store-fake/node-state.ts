import { status, type Metadata, type ServiceError } from '@grpc/grpc-js';
import { refusal } from './messages.js';

/** What goes wrong at a node of the fake, counted down as it happens. */
export interface Faults {
  /** Appends that are made, and whose answers are then lost with their connection. */
  answersToLose: number;
  /** Appends that are made and never answered. */
  answersToHold: number;
  /** Appends that are made, and whose call the server then ends in order, without an answer. */
  callsToEnd: number;
  /** Calls for the leader that meet a cluster without one. */
  callsInElection: number;
  /** Calls that meet a node which is still starting. */
  callsTooEarly: number;
  /**
   * Calls that meet a fault of the server's own: seen once, on a connection to a node that has just said it does not
   * lead.
   */
  callsThatThrow: number;
  /** Reads that are never answered. */
  readsToHold: number;
}

export interface NodeState {
  faults: Faults;
  maxAppendBytes: number;
  /** Of a follower: where its leader is. */
  leaderPort: number | undefined;
  /** `user:password` that every call must show; undefined for a server without users. */
  login: string | undefined;
  /** The server's clock. */
  now: () => Date;
}

/**
 * What the real server says of a request that it does not handle now, in a call of its own or within a BatchAppend;
 * undefined when it does.
 */
export function notHandled(metadata: Metadata, { faults }: NodeState): string | undefined {
  if (faults.callsTooEarly > 0) {
    faults.callsTooEarly -= 1;
    return 'Server Is Not Ready';
  }
  if (metadata.get('requires-leader')[0] !== 'true' || faults.callsInElection === 0) return undefined;
  faults.callsInElection -= 1;
  return 'No leader info available in response';
}

/** Why a whole call is refused here, as the real server says it; undefined when it is not. */
export function callRefusal(
  { metadata }: { metadata: Metadata },
  { faults, leaderPort, login }: NodeState,
): Partial<ServiceError> | undefined {
  if (login !== undefined && metadata.get('authorization')[0] !== `Basic ${Buffer.from(login).toString('base64')}`)
    return refusal(status.UNAUTHENTICATED, '');
  if (faults.callsThatThrow > 0) {
    faults.callsThatThrow -= 1;
    return refusal(status.UNKNOWN, 'Exception was thrown by handler.');
  }
  if (metadata.get('requires-leader')[0] !== 'true' || leaderPort === undefined) return undefined;
  return refusal(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': '127.0.0.1',
    'leader-endpoint-port': String(leaderPort),
  });
}

/** Why a call with one request is not served here; undefined when it is. */
export function notServed(call: { metadata: Metadata }, state: NodeState): Partial<ServiceError> | undefined {
  const refused = callRefusal(call, state);
  if (refused !== undefined) return refused;
  const unhandled = notHandled(call.metadata, state);
  return unhandled === undefined ? undefined : refusal(status.UNKNOWN, unhandled);
}
