/**
 * `npm run build`: what `pedigree` does on its own before it starts. --force builds although nothing changed;
 * --despite-type-errors looks for none, which is quicker, to run a program in the middle of a change.
 */
import { inWords, setUp } from './setup.mjs';

await inWords(() =>
  setUp({
    rebuild: process.argv.includes('--force'),
    despiteTypeErrors: process.argv.includes('--despite-type-errors'),
  }),
);
