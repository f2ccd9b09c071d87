import { describe, expect, it } from '@jest/globals';
import { newSigningKey, noteSigner, verifierKeyOf } from '#merkle';
import { mustBeKeys } from './audit-witnessed.js';

describe('the keys of a log', () => {
  const one = verifierKeyOf(noteSigner('log.example', newSigningKey()));
  const other = verifierKeyOf(noteSigner('log.example', newSigningKey()));

  it.each([' ', '\n', '\r\n', ' \n\t'])('may be several, with %j between and behind', (between) => {
    expect(() => mustBeKeys(`${one}${between}${other}${between}`)).not.toThrow();
    expect(() => mustBeKeys(`${one}${between}none`)).toThrow('--key: this is not a verifier key: none');
  });
});
