import { jsonAnswer, type Answer } from '../http/answer.js';
import { errorDescription } from '../http/said.js';
import type { Registry } from '../registry.js';

/**
 * Routes of the public protocol that are not part of this sandbox (public-facts 1.10), under the base path. A segment
 * in braces is any one, `*` is any number of them. `any`: the public sources do not name the verb.
 */
export const NOT_HERE = [
  'POST /documents/showcase/outcome',
  'POST /documents/showcase/income',
  'POST /documents/skzkm-traces/filter',
  'POST /sgtin/verification',
  'GET /users/{user_id}',
  'PUT /users/{user_id}',
  'DELETE /users/{user_id}',
  'GET /users/current/preferences',
  'PUT /users/current/preferences',
  'any /users/{user_id}/keys',
  'POST /users/current/keys',
  'any /users/{user_id}/add_key',
  'any /users/{user_id}/delete_key',
  'any /users/{user_id}/change_password',
  'POST /registration/accounting_system',
  'POST /registration/user_resident',
  'POST /registration/user_nonresident',
  'any /account_systems/filter',
  'any /account_systems/{account_system_id}',
  'any /rights/create_group',
  'any /rights/filter',
  'any /rights/{group_id}',
  'any /rights/{group_id}/users',
  'any /rights/{group_id}/user_add',
  'POST /reestr/branches/register',
  'POST /reestr/warehouses/register',
  'GET /reestr/address/all',
  'any /reestr/foreign_counterparty/register',
  'any /reestr/foreign_counterparty/filter',
  'PUT /members/current',
  'any /members/current/billing/info',
  'any /reestr/registration-devices/emission/filter',
  'any /reestr/registration-devices/withdrawal/filter',
  'POST /reestr/batches/short-distribution',
  'any /reestr/esklp/filter',
  'any /reestr/prod_licenses/*',
  'any /reestr/pharm_licenses/*',
  'any /reestr/egrul/*',
  'any /reestr/egrip/*',
  'any /reestr/rafp/*',
  'any /reestr/fias/*',
  'any /reestr/area/countries',
  'any /reestr/area/regions',
  'any /reestr/customs_points/filter',
] as const;

const PATTERNS = NOT_HERE.map((route) => {
  const [verb = '', path = ''] = route.split(' ');
  return { verb, expression: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+').replace('/*', '(/.*)?')}$`) };
});

/** That a route of the public protocol is not part of this sandbox; undefined for what is no such route. */
export function notHere({ profile, settings }: Registry, verb: string, path: string): Answer | undefined {
  if (!path.startsWith(`${profile.basePath}/`)) return undefined;
  const inside = path.slice(profile.basePath.length);
  if (!PATTERNS.some((one) => (one.verb === verb || one.verb === 'any') && one.expression.test(inside)))
    return undefined;
  const reason = `${verb} ${inside} is not part of this sandbox`;
  return jsonAnswer(501, {
    [profile.field('error_description')]: errorDescription(settings.language, undefined, reason),
  });
}
