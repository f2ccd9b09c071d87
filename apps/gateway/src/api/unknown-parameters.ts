import type { FastifyInstance } from 'fastify';
import { invalidParameter } from '#kernel';

/** The path of a route as the description of the API has it: `/v1/documents/{requestId}`. */
export const pathNamed = (url = ''): string => url.replace(/:(\w+)/g, '{$1}');

/**
 * A parameter that a route does not have would seem to choose: what the description of the API does not name is refused
 * for every route in one place. The description is made when the first request with a parameter comes. Where no proof
 * can be had is said by who makes it.
 */
export function refuseUnknownParameters(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', async ({ query, method, routeOptions: { url } }) => {
    const given = Object.keys(query as object).filter((name) => name !== 'proof');
    if (given.length === 0) return;
    const { queryParametersOf } = await import('./openapi.js');
    const known = queryParametersOf(method === 'HEAD' ? 'GET' : method, pathNamed(url));
    const unknown = given.find((name) => known?.has(name) === false);
    if (unknown !== undefined) throw invalidParameter(unknown, 'no such parameter');
  });
}
