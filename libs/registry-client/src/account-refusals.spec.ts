import { describe, expect, it } from '@jest/globals';
import { accountFaultOf, type AccountRefusals, type JudgedOperation, type Refusal } from './account-refusals.js';
import { BUILT_IN_PROFILES, loadProfile, type ProfileOverrides } from './profile.js';

const causeOf = (rules: AccountRefusals, operation: JudgedOperation, refusal: Partial<Refusal>): string | undefined =>
  accountFaultOf(rules, operation, { httpStatus: 400, code: 'http_400', text: '', ...refusal })?.cause;
const rulesOf = (profile: string, accountRefusals: object = {}): AccountRefusals =>
  loadProfile(profile, { accountRefusals } as ProfileOverrides).accountRefusals;

describe.each(BUILT_IN_PROFILES)('a refusal by %s', (profile) => {
  it.each<[string, JudgedOperation, Partial<Refusal>, string | undefined]>([
    [
      'an ended certificate',
      'send',
      { text: 'Ошибка при выполнении операции: срок действия сертификата истек' },
      'certificate',
    ],
    [
      'a certificate of somebody else',
      'send',
      { text: 'Ошибка при выполнении операции: Сертификат принадлежит другому пользователю' },
      'certificate',
    ],
    [
      'another certificate, in English',
      'send_large',
      { text: 'the certificate in the signature is not the one registered for this user' },
      'certificate',
    ],
    ['a signature that does not hold', 'send', { text: 'the signature value does not verify' }, 'signature'],
    ['a signature over other bytes', 'send', { text: 'the message digest does not match the content' }, 'signature'],
    ['a right that is missing', 'send', { httpStatus: 403, code: 'http_403', text: 'UPLOAD_DOCUMENT' }, 'rights'],
    ['a right that is missing for groups', 'group_start', { httpStatus: 403, code: 'http_403' }, 'rights'],
    ['a page of a server before it', 'send', { httpStatus: 403, code: 'http_403', mayBeOthers: true }, undefined],
    ['such a page at the sign-in', 'sign_in_code', { httpStatus: 403, mayBeOthers: true }, undefined],
    [
      'words of its own without its fields',
      'send',
      { text: 'the signature value does not verify', mayBeOthers: true },
      'signature',
    ],
    ['a blocked user', 'send', { httpStatus: 403, text: 'пользователь заблокирован' }, 'blocked'],
    ['a blocked user who signs in', 'sign_in_code', { text: 'the user is blocked' }, 'blocked'],
    [
      'a certificate that signs in and has ended',
      'sign_in_token',
      { text: 'the certificate is not valid at this time' },
      'certificate',
    ],
    [
      'a sign-in with wrong ids',
      'sign_in_code',
      { text: 'client_id, client_secret and user_id do not belong together' },
      'sign_in',
    ],
    ['a sign-in when all tokens are out', 'sign_in_token', { text: 'the user holds 10 tokens already' }, undefined],
    ['a code that was used', 'sign_in_token', { text: 'the code is unknown, used or expired' }, undefined],
    ['a document that was sent before', 'send', { text: 'a document with request_id 1 was sent before' }, undefined],
    ['a document that is no base64', 'send', { text: 'document is no base64 without line breaks' }, undefined],
    ['a missing signature of this document', 'send', { text: 'sign is missing' }, undefined],
    [
      'a document that is too long',
      'send',
      { httpStatus: 413, code: 'http_413', text: 'the document is longer than 750000 bytes' },
      undefined,
    ],
    ['a group that cannot be started', 'group_check', { text: 'a member is not there' }, undefined],
  ])('with %s', (_what, operation, refusal, cause) => {
    expect(causeOf(rulesOf(profile), operation, refusal)).toBe(cause);
  });
});

describe('an installation', () => {
  it('adds a rule of its own, by a code of its registry', () => {
    const rules = rulesOf('mdlp', { contract: { means: 'rights', codes: ['73'] } });
    expect(causeOf(rules, 'send', { code: '73', text: 'no contract' })).toBe('rights');
    expect(causeOf(rules, 'send', { code: '74', text: 'no contract' })).toBeUndefined();
    expect(causeOf(rules, 'send', { text: 'the signature value does not verify' })).toBe('signature');
  });

  it('changes one, or takes it away', () => {
    expect(causeOf(rulesOf('interface-v1', { rights: null }), 'send', { httpStatus: 403 })).toBeUndefined();
    expect(
      causeOf(rulesOf('interface-v1', { rights: { means: 'passing' } }), 'send', { httpStatus: 403 }),
    ).toBeUndefined();
    expect(
      causeOf(rulesOf('interface-v1', { rights: { operations: ['group_start'] } }), 'send', { httpStatus: 403 }),
    ).toBeUndefined();
  });

  it.each<[string, object, string]>([
    ['a meaning that there is not', { means: 'bad_day', httpStatus: [403] }, 'profile.accountRefusals.mine.means'],
    ['no condition', { means: 'rights' }, 'profile.accountRefusals.mine'],
    [
      'an operation that is not judged',
      { means: 'rights', operations: ['status'], httpStatus: [403] },
      'profile.accountRefusals.mine.operations.0',
    ],
    [
      'a status that is no refusal',
      { means: 'rights', httpStatus: [500] },
      'profile.accountRefusals.mine.httpStatus.0',
    ],
    ['words too short to mean anything', { means: 'rights', words: ['no'] }, 'profile.accountRefusals.mine.words.0'],
    ['an unknown field', { means: 'rights', httpStatus: [403], status: 403 }, 'profile.accountRefusals.mine.status'],
  ])('is told where its rule is wrong: %s', (_what, rule, field) => {
    expect(() => loadProfile('mdlp', { accountRefusals: { mine: rule } } as unknown as ProfileOverrides)).toThrow(
      expect.objectContaining({ code: 'invalid_configuration', place: { field } }) as unknown as Error,
    );
  });
});
