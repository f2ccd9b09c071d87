import { whyCmsFails } from '../accounts/cms.js';
import { emptyAnswer, jsonAnswer } from '../http/answer.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import type { Account } from '../packs/world.js';
import type { OpenOperation, UserOperation } from './call.js';

/** POST auth: a code for the user to sign (public-facts 1.1). */
export const signInCode: OpenOperation = (registry, call) => {
  const { profile, world } = registry;
  const body = jsonObjectOf(call.body);
  const text = (name: string) => String(body[profile.field(name)] ?? '');
  const account = world.accountsByUser.get(text('user_id').toLowerCase());
  registry.limitCall(account?.name ?? 'unknown', call);
  if (account === undefined || account.clientId !== text('client_id') || account.clientSecret !== text('client_secret')) {
    throw refuse(400, 'client_id, client_secret and user_id do not belong together');
  }
  if (text('auth_type') !== 'SIGNED_CODE') throw refuse(400, 'auth_type must be SIGNED_CODE: every user of the sandbox has a certificate');
  return jsonAnswer(200, { [profile.field('code')]: registry.sessions.issueCode(account) });
};

/** POST token: the signed code for a token. */
export const signInToken: OpenOperation = (registry, call) => {
  const { profile, sessions } = registry;
  const body = jsonObjectOf(call.body);
  const code = String(body[profile.field('code')] ?? '');
  const signature = String(body[profile.field('signature')] ?? '');
  const account = sessions.ownerOfCode(code);
  registry.limitCall(account?.name ?? 'unknown', call);
  if (account === undefined) throw refuse(400, 'the code is unknown, used or expired');
  if (signature === '') throw refuse(400, 'the signature is missing');
  const failure = whyCmsFails(Buffer.from(signature, 'base64'), Buffer.from(code), account.certificate) ?? whyCertificateFails(account);
  if (failure !== undefined) {
    registry.violations.record('bad_signature', { call: call.method, account: account.name, note: failure });
    throw refuse(400, failure);
  }
  if (!sessions.hasRoom(account)) {
    registry.violations.record('too_many_tokens', { call: call.method, account: account.name });
    throw refuse(400, `the user holds ${profile.rules.tokensPerUser} tokens already`);
  }
  const token = sessions.open(account, code, (digest, virtualMs) => registry.journal.append({ k: 'token', h: digest, a: account.name, v: virtualMs }));
  const lifeTime = Math.floor(profile.rules.tokenLifeMs / profile.tokenLifeUnitMs);
  const lost = () => void registry.journal.append({ k: 'logout', h: sessions.close(token) });
  return { ...jsonAnswer(200, { [profile.field('token')]: token, [profile.field('life_time')]: lifeTime }), lost };
};

/** GET auth/logout: the token ends. */
export const signOut: UserOperation = (registry, call) => {
  registry.journal.append({ k: 'logout', h: registry.sessions.close(call.token) });
  return emptyAnswer();
};

function whyCertificateFails({ certificate }: Account): string | undefined {
  const now = Date.now();
  return now < certificate.validFromMs || now > certificate.validToMs ? 'the certificate is not valid at this time' : undefined;
}
