import { loadProfile } from '#registry-client';
import type { SandboxOptions } from '../../apps/sandbox/src/main.js';
import { startStack, type ProfileName, type Stack } from './stack.js';

/**
 * Every wait of the interface, shortened for both sides alike: the sandbox judges by the same file by which the worker
 * waits. A `land_late` takes up to a third of the first, a FAILED that turns up to half of the second. The guard is
 * wide, for several stacks share one event loop here, which may hold a call back between its slot and its first byte.
 */
const RULES = {
  unknownGraceMs: 1_500,
  failedGraceMs: 2_000,
  statusAfterSendMs: 200,
  receiptAfterStatusMs: 200,
  statusPollMs: 200,
  receiptPollMs: 200,
  requestTimeoutMs: 5_000,
  guardMs: 40,
};
const INTERVAL_MS = 50;

/** A stack with the short waits, and with further rules of the profile; `roles`: each program by a role of its own. */
export function quickStack(
  profile: ProfileName,
  { roles = false, env = {}, ...options }: SandboxOptions & { roles?: boolean; env?: Record<string, string> },
  rules: Record<string, number> = {},
): Promise<Stack> {
  const operations = Object.fromEntries(
    Object.keys(loadProfile(profile).operations).map((name) => [name, { intervalMs: INTERVAL_MS }]),
  );
  return startStack({
    profile,
    overrides: { rules: { ...RULES, ...rules }, operations },
    sharesOverrides: true,
    ...{ roles, env },
    sandbox: { language: 'en', processingMs: 50, ...options },
  });
}
