import { FOREIGN_CERTIFICATE } from '../accounts/cms.js';
import {
  authTypeOf,
  CERTIFICATE_EXPIRED,
  whyCertificateFails,
  whyPasswordFails,
  whySignatureFails,
} from '../accounts/identity.js';
import { emptyAnswer, jsonAnswer } from '../http/answer.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import type { Said } from '../http/said.js';
import type { Account } from '../packs/world.js';
import type { Registry } from '../registry.js';
import type { Call, OpenOperation, UserOperation } from './call.js';
import { bytesOf } from './send.js';

/** POST auth: a code for the user to sign (public-facts 1.1). */
export const signInCode: OpenOperation = (registry, call) => {
  const { profile, world } = registry;
  const body = jsonObjectOf(call.body);
  const text = (name: string) => String(body[profile.field(name)] ?? '');
  const account = world.accountsByUser.get(text('user_id').toLowerCase());
  registry.limitCall(account?.name ?? 'unknown', call);
  if (
    account === undefined ||
    account.clientId !== text('client_id') ||
    account.clientSecret !== text('client_secret')
  ) {
    throw refuse(400, 'client_id, client_secret and user_id do not belong together', 'not_identified');
  }
  registry.refuseBlocked(account.name);
  if (text('auth_type') !== authTypeOf(account))
    throw refuse(400, `auth_type must be ${authTypeOf(account)} for this user`);
  return jsonAnswer(200, { [profile.field('code')]: registry.sessions.issueCode(account) });
};

/** POST token: the signed code for a token. */
export const signInToken: OpenOperation = (registry, call) => {
  const { profile, sessions } = registry;
  const body = jsonObjectOf(call.body);
  const code = String(body[profile.field('code')] ?? '');
  const account = sessions.ownerOfCode(code);
  registry.limitCall(account?.name ?? 'unknown', call);
  if (account === undefined) throw refuse(400, 'the code is unknown, used or expired');
  checkProof(registry, { call, account, code, given: (name) => String(body[profile.field(name)] ?? '') });
  if (!sessions.hasRoom(account)) {
    registry.violations.record('too_many_tokens', { call: call.method, account: account.name });
    throw refuse(400, `the user holds ${profile.rules.tokensPerUser} tokens already`);
  }
  const token = sessions.open(account, code, (digest, virtualMs) =>
    registry.journal.append({ k: 'token', h: digest, a: account.name, v: virtualMs }),
  );
  const lifeTime = Math.floor(profile.rules.tokenLifeMs / profile.tokenLifeUnitMs);
  const lost = () => void registry.journal.append({ k: 'logout', h: sessions.close(token) });
  return { ...jsonAnswer(200, { [profile.field('token')]: token, [profile.field('life_time')]: lifeTime }), lost };
};

/** GET auth/logout: the token ends. */
export const signOut: UserOperation = (registry, call) => {
  registry.journal.append({ k: 'logout', h: registry.sessions.close(call.token) });
  return emptyAnswer();
};

interface Proof {
  call: Call;
  account: Account;
  code: string;
  /** A field of the request, empty when it is not there. */
  given: (name: string) => string;
}

/** The signed code, or the password of a user without a certificate. */
function checkProof(registry: Registry, { call, account, code, given }: Proof): void {
  const field = account.certificate === undefined ? 'password' : 'signature';
  const proof = given(field);
  if (proof === '') throw refuse(400, `the ${field} is missing`);
  if (field === 'password') {
    const failure = whyPasswordFails(account, proof);
    if (failure !== undefined) throw refuse(400, failure);
    return;
  }
  const failure =
    whySignatureFails(account, bytesOf(proof, field), Buffer.from(code)) ?? whyCertificateFails(account, Date.now());
  if (failure === undefined) return;
  registry.violations.record('bad_signature', { call: call.method, account: account.name, note: failure });
  throw refuse(400, failure, saidOfCertificate(failure));
}

/** The live service's words for what is wrong with a certificate. */
function saidOfCertificate(failure: string): Said | undefined {
  if (failure === CERTIFICATE_EXPIRED) return 'certificate_expired';
  return FOREIGN_CERTIFICATE.includes(failure) ? 'certificate_of_another' : undefined;
}
