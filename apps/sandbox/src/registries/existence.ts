import { isSgtin } from '#kernel';
import { textsOf } from '../http/body.js';
import type { UserOperation } from '../operations/call.js';
import { entriesAnswer } from './answers.js';

const MOST_ASKED = 500;

/** POST sgtin/validate: whether each is written as an SGTIN, and whether the registry has it (public-facts 1.3). */
export const sgtinValidate: UserOperation = (registry, call) => {
  registry.upToNow();
  const { profile, packs } = registry;
  const asked = textsOf(call.body, profile.field('sgtins'), MOST_ASKED);
  const entries = asked.map((sgtin) => {
    const valid = isSgtin(sgtin);
    return profile.named({ sgtin, valid, found: valid && packs.pack(sgtin) !== undefined });
  });
  return entriesAnswer(registry, call, { entries, total: entries.length });
};

/** POST reestr/sscc/sscc_check: which containers exist. The shape of the answer is the sandbox's own. */
export const ssccCheck: UserOperation = (registry, call) => {
  registry.upToNow();
  const { profile, packs } = registry;
  const asked = textsOf(call.body, profile.field('sscc'), MOST_ASKED);
  const entries = asked.map((sscc) => profile.named({ sscc, found: packs.container(sscc)?.unpacked === false }));
  return entriesAnswer(registry, call, { entries, total: entries.length });
};
