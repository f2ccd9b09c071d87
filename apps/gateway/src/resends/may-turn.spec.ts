import { describe, expect, it } from '@jest/globals';
import type { FailureCause, RegistryStatus } from '#domain';
import { mayTurn, type FoundDocument } from './may-turn.js';

const failed = (cause: FailureCause, status: RegistryStatus | undefined): Promise<boolean> => {
  const state = { phase: 'concluded', outcome: 'failed', cause, status } as unknown as FoundDocument['state'];
  return mayTurn({ pool: undefined as never, failedGraceMs: 0 }, { state, concludedAt: 1n });
};

describe('a document that was not processed in its group', () => {
  it.each(['processed', 'failed_result_ready'] as const)('turns where the registry shows it %s', async (status) => {
    expect(await failed('not_processed', status)).toBe(true);
  });

  it.each([undefined, 'uploading', 'processing'] as const)('has ended while it shows it %s', async (status) => {
    expect(await failed('not_processed', status)).toBe(false);
  });
});

describe('a document that failed at the registry', () => {
  it('turns while its newest status is another', async () => {
    expect(await failed('registry_failed', 'processing')).toBe(true);
    expect(await failed('registry_failed', 'processed')).toBe(true);
  });

  it('has ended, where there is no grace', async () => {
    expect(await failed('registry_failed', 'failed')).toBe(false);
  });
});
