import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PedigreeError } from '#kernel';
import type { ApiKeys, Caller } from './api-keys.js';
import type { Role } from './key-table.js';
import type { Call } from './local-call.js';

/** Which roles may call a route. A route without this is open: health and documentation only. */
export const Allow = (...roles: Role[]) => RouteConfig({ roles });

export type CallerRequest = FastifyRequest & {
  caller: Caller;
  /**
   * For what goes on for long, before each part: a key that was revoked meanwhile lets nobody in any more. What is
   * refused once stays so, and is counted once. @throws PedigreeError as the guard.
   */
  stillAllowed(): Promise<void>;
};

/**
 * Asks every request for its key before a byte of its body is read: whoever has none occupies no memory. A route that
 * is not there is said just as early. Throws PedigreeError `unauthenticated`, `too_many_wrong_keys`, `forbidden` or
 * `not_found`.
 */
export function guardAccess(fastify: FastifyInstance, keys: ApiKeys): void {
  fastify.addHook('onRequest', async (request, reply) => {
    if (request.is404)
      throw new PedigreeError('not_found', `there is no ${request.method} ${request.url.split('?')[0]}`);
    const { roles } = request.routeOptions.config as { roles?: Role[] };
    if (roles === undefined) return;
    // What one caller may read stays with him: on no disk of a browser, and at no proxy for the next.
    void reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    const call = callOf(request);
    Object.assign(request, { caller: await admitted(keys, roles, call), stillAllowed: recheck(keys, roles, call) });
  });
}

/** A connection forgets its ends when its caller leaves, while its call may go on. */
function callOf({ raw: { headers, socket } }: FastifyRequest): Call {
  const { localPort, remoteAddress } = socket;
  return { headers, socket: { localPort, remoteAddress } };
}

async function admitted(keys: ApiKeys, roles: Role[], call: Call): Promise<Caller> {
  const caller = await keys.callerOf(call);
  if (caller.roles.includes('admin') || roles.some((role) => caller.roles.includes(role))) return caller;
  keys.noteWrongRole(caller, call);
  throw new PedigreeError('forbidden', `this needs one of the roles ${roles.join(', ')}`, { field: 'Authorization' });
}

function recheck(keys: ApiKeys, roles: Role[], call: Call): CallerRequest['stillAllowed'] {
  let refused: PedigreeError | undefined;
  return async () => {
    if (refused !== undefined) throw refused;
    try {
      await admitted(keys, roles, call);
    } catch (error) {
      if (error instanceof PedigreeError) refused = error;
      throw error;
    }
  };
}
