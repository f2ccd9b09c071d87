import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, posix } from 'node:path';

/** In dist/: the program of the page, and the one script that it becomes with all that it imports. */
const FIRST = 'apps/cli/src/proof-page/main.js';
const SCRIPT = 'apps/cli/src/proof-page/verifier.js';
/** What the page has of a library; the rest of #kernel is no matter of proofs. */
const DOORS = {
  '#kernel': ['canonical-json', 'digest', 'errors'].map((name) => `libs/kernel/src/${name}.js`),
  '#merkle': ['libs/merkle/src/index.js'],
  '#proofs': ['libs/proofs/src/index.js'],
  'node:crypto': ['apps/cli/src/proof-page/node-crypto.js'],
};
/** What is not a file of dist/. */
const TEXTS = { 'node:util': 'export const inspect = String;\n' };
const PACKAGES = { canonicalize: 'node_modules/canonicalize/lib/canonicalize.js' };

/**
 * Writes the script of `pedigree audit page`: the modules of the offline verifier as they are, each as a function, and
 * three lines that call them. No package does it: a reader finds the same source as in the repository (decision 52).
 * @param {string} root the folder of package.json
 * @param {string} dist the folder that is being built
 */
export function writePageVerifier(root, dist) {
  if (!existsSync(join(dist, FIRST))) return;
  const ts = createRequire(join(root, 'package.json'))('typescript');
  const modules = new Map();
  const add = (name) => {
    if (modules.has(name)) return;
    modules.set(name, '');
    const source = sourceOf(root, dist, name).replace(/^\/\/# sourceMappingURL=.*$/m, '');
    const names = new Map(
      ts.preProcessFile(source).importedFiles.map(({ fileName }) => [fileName, at(name, fileName)]),
    );
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, esModuleInterop: true },
    });
    const calls = outputText.replace(
      /\brequire\("([^"]+)"\)/g,
      (_, asked) => `require(${JSON.stringify(names.get(asked))})`,
    );
    for (const one of names.values()) add(one);
    modules.set(name, calls);
  };
  add(FIRST);
  writeFileSync(join(dist, SCRIPT), scriptOf(modules));
}

/** Where an import leads: a path in dist/, or a name of ours. */
function at(from, asked) {
  if (asked.startsWith('.')) return posix.join(posix.dirname(from), asked);
  if (asked in DOORS || asked in TEXTS || asked in PACKAGES) return asked;
  throw new Error(`${from} is part of the page of a proof, which cannot import ${asked}`);
}

function sourceOf(root, dist, name) {
  if (name in TEXTS) return TEXTS[name];
  if (name in PACKAGES) return readFileSync(join(root, PACKAGES[name]), 'utf8');
  if (name in DOORS) return DOORS[name].map((path) => `export * from './${path}';\n`).join('');
  return readFileSync(join(dist, name), 'utf8');
}

const scriptOf = (modules) => `// Pedigree, Apache-2.0. With canonicalize by Samuel Erdtman, Apache-2.0.
'use strict';
(() => {
const modules = {
${[...modules].map(([name, text]) => `${JSON.stringify(name)}: (exports, require, Buffer) => {\n${text}},`).join('\n')}
};
const loaded = {};
let buffer;
const require = (name) => {
  if (name in loaded) return loaded[name];
  const exports = (loaded[name] = {});
  modules[name](exports, require, buffer);
  return exports;
};
buffer = require('apps/cli/src/proof-page/bytes.js').BytesInPlaceOfBuffer;
globalThis.proofPage = require(${JSON.stringify(FIRST)});
})();
`;
