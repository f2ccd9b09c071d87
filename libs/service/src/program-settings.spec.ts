import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { parseEnvironment } from './environment.js';
import { PROGRAM_VARIABLES } from './program-settings.js';

const settings = z.object(PROGRAM_VARIABLES);

describe('the address of the database', () => {
  it('that is no URL is refused by its variable, without a word of the password', () => {
    expect(() => parseEnvironment(settings, { DATABASE_URL: 'postgres://me:wo#rd@db/pedigree' })).toThrow(
      /^DATABASE_URL: is no URL; in a password write # as %23, \/ as %2F, \? as %3F and @ as %40$/,
    );
  });

  it('is taken with such a password as URLs write it, and without a host', () => {
    for (const DATABASE_URL of ['postgres://me:wo%23rd@db:5432/pedigree', 'postgresql:///pedigree?host=/run'])
      expect(parseEnvironment(settings, { DATABASE_URL })).toMatchObject({ DATABASE_URL });
  });
});
