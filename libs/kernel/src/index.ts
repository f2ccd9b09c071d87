/**
 * The vocabulary that every other library speaks: identifiers, time, canonical JSON, errors.
 * Promise: pure and total; bad text is refused with the place and the reason, never repaired in silence.
 * Proven in: backoff.spec.ts, identifiers.spec.ts, item-code.prop.spec.ts, canonical-json.spec.ts,
 * canonical-text.prop.spec.ts, coalesce.spec.ts, stretches.spec.ts, plain-words.spec.ts, strict-json.spec.ts,
 * strict-json.prop.spec.ts.
 */
export * from './identifiers.js';
export * from './clock.js';
export * from './backoff.js';
export * from './defined.js';
export * from './canonical-json.js';
export * from './canonical-text.js';
export * from './digest.js';
export * from './errors.js';
export * from './plain-words.js';
export * from './coalesce.js';
export * from './semaphore.js';
export * from './stretches.js';
export * from './expiry.js';
export * from './item-code.js';
export * from './strict-json.js';
