import { jsonAnswer } from '../http/answer.js';
import { textsOf } from '../http/body.js';
import type { UserCall, UserOperation } from '../operations/call.js';
import type { Participant } from '../packs/world.js';
import type { Registry } from '../registry.js';
import { entriesAnswer } from './answers.js';
import { listBody, pageOfList } from './request.js';

const MOST_NAMED = 1_000;
const ALL_KNOWN = 0;
const SOME_UNKNOWN = 2;

/** POST reestr/trusted_partners/add: partners by system id or INN. Again is no error (public-facts 1.7). */
export const trustedPartnersAdd: UserOperation = (registry, call) => change(registry, call, true);
/** POST reestr/trusted_partners/delete, likewise. */
export const trustedPartnersDelete: UserOperation = (registry, call) => change(registry, call, false);

function change(registry: Registry, call: UserCall, trusts: boolean) {
  const { profile } = registry;
  const named = textsOf(call.body, profile.field('trusted_partners'), MOST_NAMED);
  const found = named.map((one) => partnerOf(registry, call, one)?.key);
  const failed = named.filter((_one, at) => found[at] === undefined);
  registry.trust({
    participant: call.account.participant.key,
    partners: found.filter((key) => key !== undefined),
    trusts,
  });
  return jsonAnswer(
    200,
    profile.named({
      code: failed.length === 0 ? ALL_KNOWN : SOME_UNKNOWN,
      ...(failed.length === 0 ? {} : { failed_partners: failed }),
    }),
  );
}

function partnerOf({ world }: Registry, { account }: UserCall, systemIdOrInn: string): Participant | undefined {
  return [...world.participants.values()].find(
    (one) => one !== account.participant && (one.systemId === systemIdOrInn || one.inn === systemIdOrInn),
  );
}

/** POST reestr/trusted_partners/filter: whom the caller's participant trusts. */
export const trustedPartners: UserOperation = (registry, call) => {
  const { profile, world } = registry;
  const { filter, page } = listBody(call.body, profile);
  const inn = filter.text('trusted_inn');
  const systemId = filter.text('trusted_sys_id');
  filter.end();
  const all = [...registry.trustedPartners.of(call.account.participant.key)]
    .flatMap((key) => world.participants.get(key) ?? [])
    .filter((one) => [one.inn, undefined].includes(inn) && [one.systemId, undefined].includes(systemId));
  const entries = pageOfList(all, page).map((one) =>
    profile.named({ trusted_sys_id: one.systemId, trusted_inn: one.inn, trusted_org_name: one.name }),
  );
  return entriesAnswer(registry, call, { entries, total: all.length });
};
