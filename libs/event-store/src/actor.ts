import type { Actor } from './port.js';

/** How the holder of an API key is authenticated. */
export const BY_API_KEY = 'api-key';

/**
 * Who did it, as readers show it. An API key belongs to a program; versions before recorded it as a person. Their
 * events stay as they are, and every place that shows an actor asks here (decision 53).
 */
export const actorShown = (actor: Actor): Actor =>
  actor.authenticatedBy === BY_API_KEY && actor.kind === 'person' ? { ...actor, kind: 'system' } : actor;
