import { randomUUID } from 'node:crypto';
import type { NewEvent } from '#event-store';

const METADATA: NewEvent['metadata'] = {
  participant: 'own',
  actor: { kind: 'system', name: 'test', authenticatedBy: 'process' },
  softwareVersion: '1',
  profile: 'interface-v1',
  effectiveAt: '2026-01-15T09:00:00.000Z',
  correlationId: 'c',
  causationId: 'd',
};

/** An event of any type, as the log takes it, always with the same metadata. */
export const madeEvent = (type: string, data: object): NewEvent => ({
  ...{ id: randomUUID(), type, schemaVersion: 1 },
  data: data as NewEvent['data'],
  metadata: METADATA,
});
