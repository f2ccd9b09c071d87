import { builtinRules } from 'eslint/use-at-your-own-risk';
import tseslint from 'typescript-eslint';

/**
 * What the source must look like: sizes, purity, no lost promises, no silent tests. The wanted limit of a function is
 * 40 lines; it is a counted warning (test/gates/ratchet.json may only fall), and 70 is the end.
 */
const WANTED_FUNCTION_LINES = 40;
const MOST_FUNCTION_LINES = 70;
const MOST_FILE_LINES = 400;
const MOST_TEST_FILE_LINES = 600;
const MOST_PARAMETERS = 3;
const MOST_COLUMNS = 120;
/** A switch over a union of named types counts once: the compiler sees that no name is missing. */
const MOST_COMPLEXITY = 12;

/** Specs, what they share in test/, and the suites (contract*.ts) that every adapter of a port must pass. */
const TESTS = ['**/*.spec.ts', 'libs/*/src/contract*.ts', 'test/**'];

/** The title of a test stays on the line of its test. */
const TITLE = '^\\s*(it|describe)(\\.each\\(.*\\))?\\(';

/** A core rule that stays silent where `isExcused(node)` holds. */
function unless(rule, isExcused) {
  return {
    ...rule,
    create(context) {
      const report = (problem) => (problem.node && isExcused(problem.node) ? undefined : context.report(problem));
      return rule.create(Object.create(context, { report: { value: report } }));
    },
  };
}

/**
 * `describe(...)`, or a suite `contractOf...`, only groups tests; its length says nothing about any function. The
 * file's limit still holds.
 */
const groupsTests = (node) => {
  if (/^\w*[cC]ontract/.test(node.id?.name ?? '')) return true;
  const call = node.parent;
  if (call?.type !== 'CallExpression') return false;
  // Where a tool may be missing: `(isThere ? describe : describe.skip)(...)`.
  let callee = call.callee.type === 'ConditionalExpression' ? call.callee.alternate : call.callee;
  while (callee.type === 'CallExpression' || callee.type === 'MemberExpression')
    callee = callee.type === 'CallExpression' ? callee.callee : callee.object;
  return callee.type === 'Identifier' && callee.name === 'describe';
};

/**
 * NestJS injects through constructor parameters, so a constructor that only declares parameter properties may have
 * more.
 */
const injects = (node) =>
  node.parent?.kind === 'constructor' && node.params.every((parameter) => parameter.type === 'TSParameterProperty');

/** Three parameters, then one options record: a fourth is fine when it is that record, and the last. */
function endsInOptions(node) {
  const fourth = node.params?.[MOST_PARAMETERS];
  const parameter = fourth?.type === 'AssignmentPattern' ? fourth.left : fourth;
  return (
    node.params?.length === MOST_PARAMETERS + 1 && (parameter.type === 'ObjectPattern' || parameter.name === 'options')
  );
}

/** A test over a table of cases has a parameter per column. */
const takesTableRow = (node) =>
  node.parent?.type === 'CallExpression' && node.parent.callee.callee?.property?.name === 'each';

const functionLines = unless(builtinRules.get('max-lines-per-function'), groupsTests);
const house = {
  rules: {
    'function-lines': functionLines,
    'function-lines-wanted': functionLines,
    parameters: unless(
      builtinRules.get('max-params'),
      (node) => injects(node) || endsInOptions(node) || takesTableRow(node),
    ),
  },
};

/**
 * A part of the program that must give the same answer for the same input, for ever: time and chance come as arguments.
 */
const CLOCKS_AND_CHANCE = [
  ['Date', 'now'],
  ['Math', 'random'],
  ['crypto', 'randomUUID'],
  ['crypto', 'getRandomValues'],
  ['crypto', 'randomBytes'],
].map(([object, property]) => ({
  object,
  property,
  message: 'A pure library takes time and randomness as arguments.',
}));

const WORLD = [
  'performance',
  'process',
  'globalThis',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'clearImmediate',
  'fetch',
].map((name) => ({
  name,
  message: 'A pure library takes time and randomness as arguments and touches nothing outside.',
}));

const ENVIRONMENT = {
  object: 'process',
  property: 'env',
  message: 'Only apps/*/src/config.ts reads the environment: everything else takes options.',
};

const WALL_CLOCK = [
  {
    selector: "NewExpression[callee.name='Date'][arguments.length=0]",
    message: '`new Date()` reads the clock: take the moment as an argument.',
  },
  {
    selector: "CallExpression[callee.name='Date']",
    message: '`Date()` reads the clock: take the moment as an argument.',
  },
];

const ENVIRONMENT_BY_IMPORT = [
  {
    selector: "ImportDeclaration[source.value=/^(node:)?process$/] ImportSpecifier[imported.name='env']",
    message: 'Only apps/*/src/config.ts reads the environment: everything else takes options.',
  },
];

const IS_ENVIRONMENT = "[object.name='process'][property.name='env']";
const VARIABLE_READ = [
  `MemberExpression > MemberExpression.object${IS_ENVIRONMENT}`,
  `VariableDeclarator[id.type='ObjectPattern'] > MemberExpression.init${IS_ENVIRONMENT}`,
].map((selector) => ({ selector, message: ENVIRONMENT.message }));

const SILENT_TESTS = [
  {
    selector:
      'CallExpression[callee.object.name=/^(it|test|describe)$/][callee.property.name=/^(only|skip|todo|failing)$/]',
    message: 'A test runs or does not exist. Where a tool is missing, choose by condition and print why.',
  },
  {
    selector:
      'CallExpression[callee.object.object.name=/^(it|test|describe)$/]' +
      '[callee.object.property.name=/^(only|skip|failing)$/]',
    message: 'A test runs or does not exist.',
  },
  {
    selector: 'CallExpression[callee.name=/^(fit|xit|xtest|fdescribe|xdescribe)$/]',
    message: 'A test runs or does not exist.',
  },
];

export default tseslint.config(
  { ignores: ['**/node_modules/', '**/dist/', '**/dist-*/', '**/.pedigree/', '**/coverage/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts', '**/*.mjs'],
    plugins: { house },
    rules: {
      'max-lines': ['error', { max: MOST_FILE_LINES }],
      'max-len': ['error', { code: MOST_COLUMNS, ignoreUrls: true, ignoreRegExpLiterals: true, ignorePattern: TITLE }],
      'house/function-lines': ['error', { max: MOST_FUNCTION_LINES, skipBlankLines: true, skipComments: true }],
      'house/function-lines-wanted': ['warn', { max: WANTED_FUNCTION_LINES, skipBlankLines: true, skipComments: true }],
      'house/parameters': ['error', { max: MOST_PARAMETERS }],
      complexity: ['error', { max: MOST_COMPLEXITY, variant: 'modified' }],
      'no-restricted-syntax': ['error', ...SILENT_TESTS, ...ENVIRONMENT_BY_IMPORT],
      'no-restricted-properties': ['error', ENVIRONMENT],
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: ['**/*.ts'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: process.cwd() },
    },
    plugins: { '@typescript-eslint': tseslint.plugin },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: false }],
      '@typescript-eslint/no-explicit-any': 'error',
      // Counted like the long functions: right where an index was just checked, and a habit elsewhere.
      '@typescript-eslint/no-non-null-assertion': 'warn',
      '@typescript-eslint/ban-ts-comment': 'error',
    },
  },
  {
    files: TESTS,
    rules: {
      'max-lines': ['error', { max: MOST_TEST_FILE_LINES }],
      // A test that reads `rows[0]!` fails by itself when there is no row.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['libs/domain/**/*.ts', 'libs/merkle/**/*.ts', 'libs/proofs/**/*.ts', 'libs/kernel/**/*.ts'],
    ignores: [...TESTS, 'libs/kernel/src/clock.ts'],
    rules: {
      'no-restricted-globals': ['error', ...WORLD],
      'no-restricted-properties': ['error', ENVIRONMENT, ...CLOCKS_AND_CHANCE],
      'no-restricted-syntax': ['error', ...SILENT_TESTS, ...ENVIRONMENT_BY_IMPORT, ...WALL_CLOCK],
      'no-restricted-imports': [
        'error',
        {
          paths: ['node:crypto', 'crypto'].map((name) => ({
            name,
            importNames: ['randomUUID', 'randomBytes', 'randomInt', 'getRandomValues', 'webcrypto'],
            message: 'A pure library takes randomness as an argument.',
          })),
          patterns: [
            {
              group: ['uuid'],
              importNames: ['v1', 'v4', 'v6', 'v7'],
              message: 'A pure library takes randomness as an argument; UUIDv5 is a digest and stays.',
            },
          ],
        },
      ],
    },
  },
  {
    // A program's main hands the whole environment to its config.ts and reads no variable itself.
    files: ['apps/*/src/main.ts'],
    rules: {
      'no-restricted-properties': 'off',
      'no-restricted-syntax': ['error', ...SILENT_TESTS, ...ENVIRONMENT_BY_IMPORT, ...VARIABLE_READ],
    },
  },
  {
    files: ['apps/*/src/config.ts', 'apps/cli/bin/**', ...TESTS],
    rules: { 'no-restricted-properties': 'off', 'no-restricted-syntax': ['error', ...SILENT_TESTS] },
  },
  {
    // Programs that talk to a person at a terminal.
    files: ['apps/cli/**', 'apps/sandbox/src/main.ts', 'test/gates/*.mjs', 'test/bench/**', 'test/support/**'],
    rules: { 'no-console': 'off' },
  },
);
