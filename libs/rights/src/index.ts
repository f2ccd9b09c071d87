/**
 * What each program may do in the database: a table of rights, written and checked. Promise: every table has a line; a
 * right that is missing, and one that nobody gave here, is found and named. Proven in: rights.int.spec.ts.
 */
export { addressOf, PROGRAM_ROLES, ROLES, type Role } from './roles.js';
export { TABLE_RIGHTS } from './table-rights.js';
export { compareRights, type RightsFinding } from './compare-rights.js';
export { grantRights, inUse } from './grant-rights.js';
