import { appendFileSync } from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

/**
 * `node --import` this: writes the address of each module that is imported into the file LOADED_MODULES. Node runs the
 * hooks in a thread of their own, which reads this file again.
 */
export async function load(url, context, next) {
  appendFileSync(process.env.LOADED_MODULES, `${url}\n`);
  return next(url, context);
}

if (isMainThread) register(import.meta.url);
