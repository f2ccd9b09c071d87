import { type CanActivate, type ExecutionContext, Inject, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { PedigreeError } from '#kernel';
import { ApiKeys, type Caller, type Role } from './api-keys.js';

const ROLES_KEY = 'pedigree:roles';

/** Which roles may call a route. A route without this is open: health and documentation only. */
export const Allow = (...roles: Role[]) => SetMetadata(ROLES_KEY, roles);

export type CallerRequest = FastifyRequest & { caller: Caller };

@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    @Inject(ApiKeys) private readonly keys: ApiKeys,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const roles = this.reflector.get<Role[] | undefined>(ROLES_KEY, context.getHandler());
    if (roles === undefined) return true;
    const request = context.switchToHttp().getRequest<CallerRequest>();
    request.caller = await this.keys.callerOf(request.headers.authorization);
    const allowed = request.caller.roles.includes('admin') || roles.some((role) => request.caller.roles.includes(role));
    if (!allowed) throw new PedigreeError('forbidden', `this needs one of the roles ${roles.join(', ')}`, { field: 'Authorization' });
    return true;
  }
}
