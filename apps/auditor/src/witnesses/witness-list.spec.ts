import { describe, expect, it } from '@jest/globals';
import { newSigningKey, noteSigner, verifierKeyOf, witnessKeyOf } from '#merkle';
import { auditorConfig, describeAuditorConfig } from '../config.js';

const [one, two] = ['witness.example/one', 'witness.example/two'].map((name) =>
  witnessKeyOf(noteSigner(name, newSigningKey())),
);
const logKey = verifierKeyOf(noteSigner('pedigree.example/log', newSigningKey()));
const env = (more: NodeJS.ProcessEnv) => ({ DATABASE_URL: 'postgres://x/y', AUDIT_KEY_FILE: '/k', ...more });
const both = `${one} https://one.example/w/ , ${two} http://user:secret@two.example:8090`;

describe('the witnesses of an auditor', () => {
  it('are named by their keys, and all are needed unless fewer are', () => {
    expect(auditorConfig(env({ AUDIT_WITNESSES: both })).witnessPolicy).toMatchObject({
      witnesses: [
        { name: 'witness.example/one', url: 'https://one.example/w' },
        { name: 'witness.example/two', url: 'http://user:secret@two.example:8090' },
      ],
      needed: 2,
    });
    expect(auditorConfig(env({ AUDIT_WITNESSES: both, AUDIT_WITNESSES_NEEDED: '1' })).witnessPolicy.needed).toBe(1);
    for (const empty of [{}, { AUDIT_WITNESSES: '', AUDIT_WITNESSES_NEEDED: '', AUDIT_LOG_PORT: '' }])
      expect(auditorConfig(env(empty))).toMatchObject({
        witnessPolicy: { witnesses: [], needed: 0 },
        logPort: undefined,
      });
  });

  it('are shown without secrets', () => {
    const shown = JSON.stringify(describeAuditorConfig(auditorConfig(env({ AUDIT_WITNESSES: both }))));
    expect(shown).toContain('two.example:8090');
    expect(shown).not.toContain('secret');
  });

  it.each([
    [{ AUDIT_WITNESSES: one }, /^AUDIT_WITNESSES: must be a verifier key, a blank and an http or https address/],
    [{ AUDIT_WITNESSES: `${one} ftp://one.example` }, /^AUDIT_WITNESSES: must be/],
    [{ AUDIT_WITNESSES: `${one} https://one.example more` }, /^AUDIT_WITNESSES: must be/],
    [{ AUDIT_WITNESSES: `${logKey} https://one.example` }, /^AUDIT_WITNESSES: this is not a verifier key of a witness/],
    [{ AUDIT_WITNESSES: `${one} https://a.example,${one} https://b.example` }, /two witnesses have one name/],
    [{ AUDIT_WITNESSES: both, AUDIT_WITNESSES_NEEDED: '3' }, /^AUDIT_WITNESSES_NEEDED: 3 are needed, and 2 are named/],
    [{ AUDIT_WITNESSES: both, AUDIT_WITNESSES_NEEDED: '0' }, /^AUDIT_WITNESSES_NEEDED/],
  ])('are refused where they do not hold: %j', (wrong, why) => expect(() => auditorConfig(env(wrong))).toThrow(why));
});
