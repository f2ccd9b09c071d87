import type { ErrorPlace } from '#kernel';
import type { Account, CallOutcome, RawAnswer } from '../port.js';
import type { Profile } from '../profile.js';
import { accountFaultOf, type AccountFault } from '../account-refusals.js';
import { classify, type Reading } from '../call/classify.js';
import { jsonOf, oneLine } from '../call/error-body.js';
import type { Exchange } from '../call/exchange.js';
import type { Readings } from '../call/readings.js';
import type { RequestParts, Requests } from '../call/requests.js';
import type { SignInResult } from './sessions.js';

export interface SignInTools {
  profile: Profile;
  requests: Requests;
  readings: Readings;
  /** Not called for a user who signs in by password. */
  sign: (bytes: Uint8Array) => Promise<Buffer>;
  /** Takes the slot, makes the call without a token, learns from a 429. Never throws. */
  call: (operation: 'sign_in_code' | 'sign_in_token', request: RequestParts) => Promise<Exchange>;
}

/**
 * Obtains a token: ask for a code, sign it or give the password, exchange it (public-facts 1.1). The answers are not
 * evidence; only words without secrets leave this function, and the token.
 */
export async function signIn(account: Account, tools: SignInTools): Promise<SignInResult> {
  const { requests, readings, profile } = tools;
  const manner = { changes: true, on404: 'refused' } as const;
  const codeAnswer = await tools.call('sign_in_code', requests.signInCode(account));
  const code = classify(codeAnswer, manner, { fields: profile.fields, read: (raw) => readings.text(raw, 'code') });
  if (code.kind !== 'ok') return failed('code', code, { secrets: [account.clientSecret], profile });

  const proof = await proofOf(account, code.value, tools).catch(unsigned);
  if ('kind' in proof) return proof;
  const tokenAnswer = await tools.call('sign_in_token', requests.signInToken(code.value, proof));
  const read = (raw: RawAnswer): Reading<{ token: string; lifeMs: number | undefined }> => {
    const token = readings.text(raw, 'token');
    return 'problem' in token ? token : { value: { token: token.value, lifeMs: lifeMs(raw, profile) } };
  };
  const token = classify(tokenAnswer, manner, { fields: profile.fields, read });
  if (token.kind !== 'ok')
    return failed('token', token, { secrets: [account.clientSecret, code.value, ...Object.values(proof)], profile });
  return { kind: 'ok', ...token.value };
}

async function proofOf(
  { signer }: Account,
  code: string,
  { sign }: SignInTools,
): Promise<{ signature: string } | { password: string }> {
  if (signer.kind === 'password') return { password: signer.password };
  return { signature: (await sign(Buffer.from(code, 'utf8'))).toString('base64') };
}

/** Without a signature no token was asked for, so none can exist. */
function unsigned({ message, place }: Error & { place?: ErrorPlace }): Extract<SignInResult, { kind: 'failed' }> {
  const fault =
    place?.field === 'certificate'
      ? { fault: { cause: 'certificate' as const, code: 'signed_by_another', text: message } }
      : {};
  return { kind: 'failed', reason: `sign-in: ${message}`, counts: true, tokenMayExist: false, ...fault };
}

function lifeMs(raw: RawAnswer, profile: Profile): number | undefined {
  const life = Number((jsonOf(raw) as Record<string, unknown>)[profile.fields.life_time]);
  if (!Number.isFinite(life) || life <= 0) return undefined;
  return Math.min(life * profile.tokenLifeUnitMs, profile.rules.tokenLifeMs);
}

const REMOVED = '[removed]';
/** Less of a secret than this tells nothing, and may be any word. */
const SHORTEST_PART = 4;

/**
 * A registry may repeat what it was sent; no secret may come back through its words. They are one line by now, and cut
 * at its end, perhaps within a secret. A long secret goes first: a short one may be part of it.
 */
const withoutSecret = (words: string, secret: string): string =>
  [secret, oneLine(secret)].filter((form) => form !== '').reduce(withoutForm, words);

function withoutForm(words: string, form: string): string {
  const clean = words.replaceAll(form, REMOVED);
  for (let length = Math.min(form.length - 1, clean.length); length >= SHORTEST_PART; length -= 1) {
    if (clean.endsWith(form.slice(0, length))) return clean.slice(0, -length) + REMOVED;
  }
  return clean;
}

function failed(
  step: 'code' | 'token',
  outcome: Exclude<CallOutcome<unknown>, { kind: 'ok' }>,
  { secrets, profile }: { secrets: string[]; profile: Profile },
): SignInResult {
  const words = 'text' in outcome ? outcome.text : outcome.reason;
  const clean = secrets
    .filter((secret) => secret !== '')
    .sort((a, b) => b.length - a.length)
    .reduce(withoutSecret, words);
  const fault = faultOf(profile, step, outcome);
  return {
    ...(fault === undefined ? {} : { fault: { ...fault, text: clean } }),
    kind: 'failed',
    reason: `sign-in (${step}) ${outcome.kind}: ${clean}`,
    counts: outcome.kind !== 'rate_limited',
    tokenMayExist: step === 'token' && outcome.kind === 'unknown',
    away: outcome.kind === 'not_sent' || (step === 'code' && outcome.kind === 'unknown'),
  };
}

/** Only what the registry refused says something of the user. */
function faultOf(
  { accountRefusals }: Profile,
  step: 'code' | 'token',
  outcome: Exclude<CallOutcome<unknown>, { kind: 'ok' }>,
): AccountFault | undefined {
  if (outcome.kind !== 'refused') return undefined;
  const { code, text, mayBeOthers = false, raw } = outcome;
  return accountFaultOf(accountRefusals, `sign_in_${step}`, { httpStatus: raw.httpStatus, code, text, mayBeOthers });
}
