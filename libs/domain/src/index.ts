/**
 * The business, pure: what happens to a noun (events, state, evolve), what may be asked of it (decide), what follows (saga).
 * Promise: synchronous, total and without a clock; an unknown stored event throws, so that its stream stops loudly.
 * Proven in: document/*.spec.ts (given/when/then) and document/document.prop.spec.ts.
 */
export * from './document/events.js';
export * from './document/state.js';
export * from './document/decide.js';
export * from './document/saga.js';
