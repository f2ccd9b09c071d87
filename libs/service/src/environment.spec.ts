import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { parseEnvironment, variablesOf } from './environment.js';

const schema = z.object({
  DATABASE_URL: z.string().regex(/^postgres:/, 'must begin with postgres://'),
  KEY_FILE: z.string().min(1),
  PORT: z.coerce.number().int().default(8080),
  NAME: z.string().optional(),
  EVERY: z
    .string()
    .default('1')
    .transform((text) => (text === 'off' ? 0 : Number(text))),
});

describe('the environment of a program', () => {
  it('is refused with every variable at fault, each once', () => {
    const refusal = {
      code: 'invalid_configuration',
      message: expect.stringMatching(
        /^DATABASE_URL: must begin with postgres:\/\/; KEY_FILE: must be set; PORT: [^;]+$/,
      ),
    };
    expect(() => parseEnvironment(schema, { DATABASE_URL: 'mysql://', PORT: 'http' })).toThrow(
      expect.objectContaining(refusal),
    );
    expect(() => parseEnvironment(schema, {})).toThrow('DATABASE_URL: must be set; KEY_FILE: must be set');
  });

  it.each([
    ['', 'must not be empty'],
    [' ', 'must not be empty'],
    ['0x50', 'must be a number'],
    ['1e3', 'must be a number'],
  ])('is refused where a number is written as "%s"', (port, why) => {
    const env = { DATABASE_URL: 'postgres://db/x', KEY_FILE: 'key', PORT: port };
    expect(() => parseEnvironment(schema, env)).toThrow(
      expect.objectContaining({ code: 'invalid_configuration', message: `PORT: ${why}` }),
    );
    expect(() => parseEnvironment(schema, { ...env, DATABASE_URL: 'mysql://' })).toThrow(`PORT: ${why}`);
  });

  it.each(['80', ' 80 ', '80.0', '80.', '+80'])('takes a number that is written as "%s"', (port) => {
    expect(parseEnvironment(schema, { DATABASE_URL: 'postgres://db/x', KEY_FILE: 'key', PORT: port }).PORT).toBe(80);
  });

  it('takes a part of one without its nought', () => {
    expect(parseEnvironment(z.object({ HOURS: z.coerce.number() }), { HOURS: '.5' })).toEqual({ HOURS: 0.5 });
  });

  it('takes a word that stands for a number', () => {
    expect(parseEnvironment(schema, { DATABASE_URL: 'postgres://db/x', KEY_FILE: 'key', EVERY: 'off' }).EVERY).toBe(0);
  });

  it('is known by its variables, and which of them it cannot do without', () => {
    expect(variablesOf(schema).map(({ name, isRequired }) => [name, isRequired])).toEqual([
      ['DATABASE_URL', true],
      ['KEY_FILE', true],
      ['PORT', false],
      ['NAME', false],
      ['EVERY', false],
    ]);
  });
});
