import { describe, expect, it } from '@jest/globals';
import { databaseIsAway, loginRefusal } from './away.js';

const withCode = (code: string, message = 'said the server'): Error => Object.assign(new Error(message), { code });

describe('a PostgreSQL that is away', () => {
  it.each([
    ...['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN'],
    ...['57P01', '57P02', '57P03', '08006', '25006', '53300'],
  ])('is told by %s', (code) => {
    expect(databaseIsAway(withCode(code))).toBe(true);
  });

  it.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Client has encountered a connection error and is not queryable',
  ])('is told by "%s"', (message) => {
    expect(databaseIsAway(new Error(message))).toBe(true);
  });

  it('is told through a wrapper, and through an error of several addresses', () => {
    expect(databaseIsAway(new Error('migration a/b.sql failed', { cause: withCode('57P01') }))).toBe(true);
    expect(databaseIsAway(new AggregateError([withCode('ECONNREFUSED'), withCode('ECONNREFUSED')]))).toBe(true);
  });

  it.each([withCode('23505'), withCode('42P01'), new Error('no'), undefined, null, 'text'])(
    'is not told by %s',
    (error) => {
      expect(databaseIsAway(error)).toBe(false);
    },
  );
});

describe('a login that is refused', () => {
  it.each(['28P01', '28000', '3D000', '42501'])('is told by %s, in a sentence', (code) => {
    expect(loginRefusal(withCode(code, 'no such thing'))).toMatch(/^PostgreSQL .*: no such thing$/);
    expect(databaseIsAway(withCode(code))).toBe(false);
  });

  it('is not told by a server that is away', () => {
    expect(loginRefusal(withCode('ECONNREFUSED'))).toBeUndefined();
    expect(loginRefusal(undefined)).toBeUndefined();
  });
});
