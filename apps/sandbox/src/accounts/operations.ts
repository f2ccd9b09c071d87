import { jsonAnswer } from '../http/answer.js';
import type { UserOperation } from '../operations/call.js';
import { REGISTERED, userRecord } from '../registries/directory.js';
import { describedRights, rightsOf } from './rights.js';

/** GET users/current: the caller (public-facts 1.6). */
export const currentUser: UserOperation = (registry, { account }) =>
  jsonAnswer(200, { user: registry.profile.named(userRecord(registry, account)) });

/** GET rights/about: the rights that this sandbox knows. */
export const allRights: UserOperation = () => jsonAnswer(200, { rights: describedRights() });

/** GET rights/current: those of the caller. */
export const currentRights: UserOperation = (_registry, { account }) => jsonAnswer(200, { rights: rightsOf(account) });

/** GET members/current: the caller's participant. The shape is the sandbox's own, with the words of partners. */
export const member: UserOperation = ({ profile }, { account }) => {
  const { systemId, inn, kpp, ogrn, name, address } = account.participant;
  return jsonAnswer(
    200,
    profile.named({
      system_subj_id: systemId,
      inn,
      kpp,
      ogrn,
      org_name: name,
      address: address ?? '',
      country: 'RU',
      reg_entity_type: 1,
      registration_date: REGISTERED,
    }),
  );
};
