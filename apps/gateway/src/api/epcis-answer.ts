import type { CallerRequest } from '../access/access.guard.js';
import { FILE_TYPES } from './file-types.js';
import { wantedType } from './wanted-type.js';

/** Media type of EPCIS 2.0. */
export const EPCIS = 'application/ld+json';

/** The same question may be answered in EPCIS 2.0. */
export const wantsEpcis = ({ headers }: Pick<CallerRequest, 'headers'>): boolean =>
  wantedType(headers.accept, [EPCIS, ...Object.values(FILE_TYPES)]) === EPCIS;
