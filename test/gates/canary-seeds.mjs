/**
 * Violations, one per file, each with the gate and the rule that must name it. The tree they live in is otherwise in
 * order, so a gate that finds them is alive, and one that finds anything in the orderly files is mad.
 */
const opening = (what) => `/**\n * ${what}\n * Promise: it is in order.\n * Proven in: ${what}.spec.ts.\n */\n`;
const lines = (count, line = '  n += 1;\n') => line.repeat(count);

/** Files with nothing wrong in them. */
export const ORDERLY = {
  'libs/kernel/src/index.ts': `${opening('kernel')}export * from './deep.js';\nexport * from './clock.js';\n`,
  'libs/kernel/src/deep.ts':
    'export interface Deep {\n  depth: number;\n}\nexport const deep = (): Deep => ({ depth: 1 });\n',
  // The one place of a pure library that may ask what time it is.
  'libs/kernel/src/clock.ts': 'export const now = (): Date => new Date();\n',
  'libs/kernel/test/instances.ts': 'export const instances = 1;\n',
  'libs/kernel/src/kernel.spec.ts':
    "import { expect, it } from '@jest/globals';\nimport { deep } from '#kernel';\n\nit('is deep', () => " +
    'expect(deep().depth).toBe(1));\n',
  'libs/domain/src/index.ts': `${opening('domain')}export * from './document/state.js';\n`,
  'libs/domain/src/domain.spec.ts': 'export {};\n',
  'libs/domain/src/document/state.ts':
    "import type { Deep } from '#kernel';\n\nexport const state = (deep: Deep): number => deep.depth;\n",
  // The far side of a cycle, which is named once, where it begins.
  'libs/tasks/src/cycle-b.ts': "import { a } from './cycle-a.js';\n\nexport const b = (): number => a();\n",
  'libs/tasks/src/index.ts': `${opening('tasks')}export const tasks = 1;\n`,
  'libs/domain/src/table.spec.ts':
    "import { it } from '@jest/globals';\n\nit.each([[1, 2, 3, 4]])('%d', (a, b, c, d) => void (a + b + c + d));\n",
  'libs/tasks/src/tasks.spec.ts':
    "import { support } from '../../../test/support/support.js';\n\nexport const used = support;\n",
  'libs/postgres/src/contract.ts': "export { it } from '@jest/globals';\n",
  'libs/postgres/src/index.ts': `${opening('postgres')}export const postgres = 1;\n`,
  'libs/postgres/src/postgres.spec.ts': 'export {};\n',
  'apps/gateway/src/main.ts':
    "import { Injectable } from '@nestjs/common';\nimport { tasks } from '#tasks';\n\n@Injectable()\nexport " +
    'class Main {\n  readonly tasks = tasks;\n}\n',
  'apps/gateway/src/config.ts': "export const port = process.env['PORT'];\n",
  'apps/cli/src/main.ts':
    "export { Main } from '../../gateway/src/main.js';\nconsole.log('the one that starts them all');\n",
  // A program hands its environment on, whole.
  'apps/worker/src/main.ts': 'export const worker = Object.keys(process.env);\n',
  'apps/sandbox/src/main.ts': "import { deep } from '#kernel';\n\nconsole.log(deep());\n",
  'test/support/support.ts': 'export const support = 1;\n',
};

const typeBreaches = [
  {
    gate: 'types',
    rule: 'TS2322',
    file: 'libs/tasks/src/wrong-type.ts',
    text: "export const count: number = 'many';\n",
  },
  {
    gate: 'types',
    rule: 'TS2322',
    file: 'libs/tasks/src/wrong-type.spec.ts',
    text: "export const count: number = 'many';\n",
  },
];

const lintBreaches = [
  [
    'house/function-lines',
    'libs/tasks/src/long-function.ts',
    `export function long(n: number): number {\n${lines(80)}  return n;\n}\n`,
  ],
  [
    'house/function-lines-wanted',
    'libs/tasks/src/longish-function.ts',
    `export function longish(n: number): number {\n${lines(50)}  return n;\n}\n`,
  ],
  [
    'house/parameters',
    'libs/tasks/src/many-parameters.ts',
    'export const four = (a: number, b: number, c: number, d: number) => a + b + c + d;\n',
  ],
  ['max-lines', 'libs/tasks/src/long-file.ts', `export let n = 0;\n${lines(420, 'n += 1;\n')}`],
  ['no-restricted-properties', 'libs/tasks/src/environment.ts', "export const url = process.env['DATABASE_URL'];\n"],
  ['no-restricted-properties', 'apps/gateway/src/environment.ts', 'export const { PORT: port } = process.env;\n'],
  ['no-restricted-syntax', 'apps/auditor/src/main.ts', "export const url = process.env['DATABASE_URL'];\n"],
  ['no-restricted-syntax', 'apps/reconciler/src/main.ts', 'export const { HOME: home } = process.env;\n'],
  [
    'no-restricted-syntax',
    'libs/tasks/src/environment-import.ts',
    "import { env } from 'node:process';\n\nexport const url = env['DATABASE_URL'];\n",
  ],
  [
    'no-restricted-properties',
    'libs/domain/src/document/clock-read.ts',
    'export const at = (): number => Date.now();\n',
  ],
  ['no-restricted-syntax', 'libs/domain/src/document/new-date.ts', 'export const at = (): Date => new Date();\n'],
  [
    'no-restricted-properties',
    'libs/domain/src/document/chance.ts',
    'export const chance = (): number => Math.random();\n',
  ],
  [
    'no-restricted-imports',
    'libs/domain/src/document/random-id.ts',
    "import { randomUUID } from 'node:crypto';\n\nexport const id = randomUUID;\n",
  ],
  ['no-restricted-globals', 'libs/kernel/src/counter.ts', 'export const ms = (): number => performance.now();\n'],
  [
    'no-restricted-globals',
    'libs/merkle/src/timer.ts',
    'export const later = (run: () => void) => setTimeout(run, 1);\n',
  ],
  ['no-console', 'libs/tasks/src/chatter.ts', "console.log('hello');\n"],
  [
    'no-restricted-syntax',
    'libs/tasks/src/only.spec.ts',
    "import { it } from '@jest/globals';\n\nit.only('runs alone', () => undefined);\n",
  ],
  [
    'no-restricted-syntax',
    'libs/tasks/src/skipped.spec.ts',
    "import { describe } from '@jest/globals';\n\ndescribe.skip('never', () => undefined);\n",
  ],
  [
    'no-restricted-syntax',
    'libs/tasks/src/todo.spec.ts',
    "import { it } from '@jest/globals';\n\nit.todo('some day');\n",
  ],
  [
    '@typescript-eslint/no-floating-promises',
    'libs/tasks/src/lost-promise.ts',
    'const work = async () => 1;\nexport const start = () => {\n  work();\n};\n',
  ],
  [
    '@typescript-eslint/no-floating-promises',
    'libs/tasks/src/lost-promise.spec.ts',
    'const work = async () => 1;\nexport const start = () => {\n  work();\n};\n',
  ],
  [
    '@typescript-eslint/no-misused-promises',
    'libs/tasks/src/misused-promise.ts',
    'const work = async () => true;\nexport const start = () => (work() ? 1 : 2);\n',
  ],
  [
    '@typescript-eslint/switch-exhaustiveness-check',
    'libs/domain/src/document/forgotten-case.ts',
    "export function evolve(event: 'sent' | 'concluded'): number {\n  switch (event) {\n    case 'sent':\n      " +
      'return 1;\n    default:\n      return 0;\n  }\n}\n',
  ],
  [
    '@typescript-eslint/no-explicit-any',
    'libs/tasks/src/anything.ts',
    'export const anything = (value: any): unknown => value;\n',
  ],
  // A wish that is counted: in a tree without a ratchet the first one is too many.
  [
    '@typescript-eslint/no-non-null-assertion',
    'libs/tasks/src/asserted.ts',
    'export const first = (list: number[]): number => list[0]!;\n',
  ],
].map(([rule, file, text]) => ({ gate: 'eslint', rule, file, text }));

const dependencyBreaches = [
  [
    'no-cycles',
    'libs/tasks/src/cycle-a.ts',
    "import { b } from './cycle-b.js';\n\nexport const a = (): number => b();\n",
  ],
  [
    'libs-import-no-app',
    'libs/tasks/src/imports-app.ts',
    "export { worker } from '../../../apps/worker/src/main.js';\n",
  ],
  ['front-door-only', 'libs/tasks/src/past-the-door.ts', "export { deep } from '../../kernel/src/deep.js';\n"],
  ['front-door-by-name', 'libs/tasks/src/by-path.ts', "export { deep } from '../../kernel/src/index.js';\n"],
  [
    'front-door-only-from-outside',
    'apps/worker/src/past-the-door.ts',
    "export { deep } from '../../../libs/kernel/src/deep.js';\n",
  ],
  [
    'test-support-for-tests-alone',
    'apps/worker/src/uses-test-support.ts',
    "export { instances } from '../../../libs/kernel/test/instances.js';\n",
  ],
  ['own-front-door', 'libs/tasks/src/own-door.ts', "export { tasks as again } from '#tasks';\n"],
  ['nest-only-in-apps', 'libs/tasks/src/nest.ts', "export { Injectable } from '@nestjs/common';\n"],
  [
    'nest-only-in-apps',
    'libs/tasks/src/nest-type.ts',
    "import type { INestApplication } from '@nestjs/common';\n\nexport type App = INestApplication;\n",
  ],
  // Only the type: with tsPreCompilationDeps off, or a compiler that the tool cannot read, this passes.
  [
    'library-domain',
    'libs/domain/src/document/type-only.ts',
    "import type { tasks } from '#tasks';\n\nexport type Tasks = typeof tasks;\n",
  ],
  ['library-kernel', 'libs/kernel/src/knows-somebody.ts', "export { postgres } from '#postgres';\n"],
  ['library-not-listed', 'libs/unlisted/src/unlisted.ts', "export { deep } from '#kernel';\n"],
  ['apps-import-no-app', 'apps/worker/src/imports-app.ts', "export { Main } from '../../gateway/src/main.js';\n"],
  ['sandbox-stands-alone', 'apps/sandbox/src/leans.ts', "export { tasks } from '#tasks';\n"],
  [
    'tests-stay-outside',
    'libs/tasks/src/imports-test.ts',
    "export { support } from '../../../test/support/support.js';\n",
  ],
  ['built-with-what-it-imports', 'test/bench/imports-support.ts', "export { support } from '../support/support.js';\n"],
  ['no-spec-as-module', 'libs/tasks/src/imports-spec.ts', "export { used } from './tasks.spec.js';\n"],
  ['contract-only-in-specs', 'libs/postgres/src/leans-on-contract.ts', "export { it } from './contract.js';\n"],
  [
    'pure-libraries-touch-nothing',
    'libs/domain/src/document/reads-file.ts',
    "export { readFileSync } from 'node:fs';\n",
  ],
  [
    'only-there-eventstore-db-client',
    'libs/tasks/src/engine.ts',
    "export { EventStoreDBClient } from '@eventstore/db-client';\n",
  ],
  ['only-there-undici', 'libs/tasks/src/way-out.ts', "export { request } from 'undici';\n"],
  ['only-there-undici', 'libs/tasks/src/way-out-later.ts', "export const lazy = () => import('undici');\n"],
  ['resolvable', 'libs/tasks/src/nowhere.ts', "export * from './nowhere-at-all.js';\n"],
  ['package-is-declared', 'libs/tasks/src/undeclared.ts', "export * from 'pg-types';\n"],
  ['no-development-package-in-production', 'libs/tasks/src/development.ts', "export * from 'fast-check';\n"],
].map(([rule, file, text]) => ({ gate: 'dependencies', rule, file, text }));

const host = 'https:' + '//registry.npmjs.org/x/-/x.tgz';
const tidyBreaches = [
  ['file-lines', 'libs/tasks/src/migrations/0001-long.sql', lines(420, 'SELECT 1;\n')],
  ['banned-name', 'libs/tasks/src/task-utils.ts', 'export {};\n'],
  ['banned-name', 'libs/tasks/src/common/task.ts', 'export {};\n'],
  ['folder-depth', 'libs/tasks/src/a/b/c/deep.ts', 'export {};\n'],
  ['library-opening', 'libs/merkle/src/index.ts', 'export {};\n'],
  ['proof-exists', 'libs/evidence/src/index.ts', `${opening('evidence')}export {};\n`],
  [
    'switched-off-without-reason',
    'libs/tasks/src/switched-off.ts',
    `// eslint-${'disable-next-line'} no-console\nconsole.log(1);\n`,
  ],
  ['machine-path', 'libs/tasks/src/machine.ts', `export const path = '${'/home/'}somebody/pedigree';\n`],
  ['foreign-host', 'docs/hosts.md', `See ${host}.\n`],
  [
    'lock-without-hosts',
    'package-lock.json',
    `{ "packages": { "node_modules/x": { "version": "1.0.0", "resolved": "${host}", "optionalDependencies": { ` +
      '"y": "1" } } } }\n',
  ],
  ['lock-complete', 'package-lock.json'],
  ['documented-command', 'docs/run.md', '```sh run\nnpx pedigree unheard-of\n```\n'],
  ['document-link', 'docs/link.md', 'See [there](nowhere.md).\n'],
  ['reference', 'docs/citation.md', 'The registry answers late (registry-interface 99.9).\n'],
  ['reference', 'libs/tasks/src/citation.ts', '// It holds for every document (principles\n// 99).\nexport {};\n'],
  ['cell-words', 'docs/cells.md', `| What |\n|---|\n| ${'word '.repeat(26)}|\n`],
  ['merge-marker', 'libs/tasks/src/merge.ts', `${'<'.repeat(7)} HEAD\nexport {};\n`],
].map(([rule, file, text]) => ({ gate: 'tidy', rule, file, text }));

// A seed without a text of its own shares the file of the one before.
export const SEEDS = [...typeBreaches, ...lintBreaches, ...dependencyBreaches, ...tidyBreaches];
