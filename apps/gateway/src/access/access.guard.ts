import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PedigreeError } from '#kernel';
import type { ApiKeys, Caller } from './api-keys.js';
import type { Role } from './key-table.js';

/** Which roles may call a route. A route without this is open: health and documentation only. */
export const Allow = (...roles: Role[]) => RouteConfig({ roles });

export type CallerRequest = FastifyRequest & { caller: Caller };

/**
 * Asks every request for its key before a byte of its body is read: whoever has none occupies no memory. A route that
 * is not there is said just as early. Throws PedigreeError `unauthenticated`, `too_many_wrong_keys`, `forbidden` or
 * `not_found`.
 */
export function guardAccess(fastify: FastifyInstance, keys: ApiKeys): void {
  fastify.addHook('onRequest', async (request) => {
    if (request.is404)
      throw new PedigreeError('not_found', `there is no ${request.method} ${request.url.split('?')[0]}`);
    const { roles } = request.routeOptions.config as { roles?: Role[] };
    if (roles === undefined) return;
    const caller = await keys.callerOf(request.raw);
    (request as CallerRequest).caller = caller;
    const allowed = caller.roles.includes('admin') || roles.some((role) => caller.roles.includes(role));
    if (allowed) return;
    keys.noteWrongRole(caller, request.raw);
    throw new PedigreeError('forbidden', `this needs one of the roles ${roles.join(', ')}`, { field: 'Authorization' });
  });
}
