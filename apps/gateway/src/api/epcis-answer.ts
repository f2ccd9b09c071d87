import type { CallerRequest } from '../access/access.guard.js';

/** Media type of EPCIS 2.0. */
export const EPCIS = 'application/ld+json';

/** The same question may be answered in EPCIS 2.0. */
export const wantsEpcis = ({ headers }: Pick<CallerRequest, 'headers'>): boolean =>
  headers.accept?.includes(EPCIS) === true;
