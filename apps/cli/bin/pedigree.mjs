#!/usr/bin/env -S node --max-semi-space-size=64
/**
 * The command `pedigree`: makes the clone ready (packages, build), then hands over to apps/cli/src/main.ts in this
 * process, so that arguments, signals and the exit status are that program's own.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inWords, ROOT, setUp } from './setup.mjs';

await inWords(() => setUp({ believesFirst: true }));
// Stack traces name the lines of the sources.
process.setSourceMapsEnabled(true);
await import(pathToFileURL(join(ROOT, 'dist/apps/cli/src/main.js')).href);
