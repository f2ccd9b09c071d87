import { describe, expect, it } from '@jest/globals';
import { actorShown } from './actor.js';
import type { Actor } from './port.js';

describe('who is shown to have done it', () => {
  it.each<[Actor, Actor['kind']]>([
    [{ kind: 'person', name: 'erp', authenticatedBy: 'api-key' }, 'system'],
    [{ kind: 'system', name: 'erp', authenticatedBy: 'api-key' }, 'system'],
    [{ kind: 'person', name: 'local', authenticatedBy: 'loopback' }, 'person'],
    [{ kind: 'person', name: 'olga', authenticatedBy: 'database' }, 'person'],
    [{ kind: 'person', name: 'olga', authenticatedBy: 'environment' }, 'person'],
    [{ kind: 'registry', name: 'registry', authenticatedBy: 'registry-session' }, 'registry'],
  ])('%j is a %s', (actor, kind) => {
    const before = { ...actor };
    expect(actorShown(actor)).toEqual({ ...actor, kind });
    expect(actor).toEqual(before);
  });
});
