/**
 * What each program was set to, and who changed it and why: the stream `configuration` of the event log. Promise: a
 * start that finds something changed says what, once, however many processes start; a start that does not writes
 * nothing; no secret is kept. Proven in: fields.spec.ts, record.int.spec.ts.
 */
export * from './event.js';
export * from './fields.js';
export * from './history.js';
export * from './record.js';
export * from './starter.js';
