import { randomUUID } from 'node:crypto';
import type { NewEvent } from '#event-store';

export const METADATA: NewEvent['metadata'] = {
  participant: '00000000000001',
  actor: { kind: 'system', name: 'trial', authenticatedBy: 'test' },
  softwareVersion: '0.0.0',
  profile: 'interface-v1',
  effectiveAt: '2026-01-01T00:00:00Z',
  correlationId: '3c9f0f3e-58a5-4d3e-9f57-0d7f3f7d1c11',
  causationId: '3c9f0f3e-58a5-4d3e-9f57-0d7f3f7d1c12',
};

/** As it can be appended. */
export const recordable = ({ type, data }: Pick<NewEvent, 'type'> & { data: object }): NewEvent =>
  ({ id: randomUUID(), type, data, schemaVersion: 1, metadata: METADATA }) as NewEvent;
