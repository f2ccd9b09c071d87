import { SOURCE_FILES, SOURCE_FOLDERS } from './apps/cli/bin/compile.mjs';

/**
 * Who may import whom. A line per library below says what it may import and why; everything else follows from the
 * layout (docs/architecture.md). `npm run deps` checks it, and test/gates/canary.mjs proves that each rule can fail.
 */
const LIBRARIES = {
  kernel: { may: [], because: 'it is the vocabulary that everybody speaks, so it knows nobody' },
  postgres: { may: ['kernel'], because: 'it knows connections and migrations, not what is stored' },
  service: {
    may: ['kernel', 'postgres'],
    because: 'the frame of a long-running program knows what programs wait for, not what they do',
  },
  'secret-files': { may: [], because: 'whether a file is kept to its owner does not hang on what is in it' },
  domain: { may: ['kernel'], because: 'the business is pure and must outlive every engine beneath it' },
  merkle: { may: ['kernel'], because: 'proofs must verify with nothing but bytes and arithmetic' },
  proofs: {
    may: ['kernel', 'merkle'],
    because: 'a stranger checks a proof with the file and the keys, and nothing else',
  },
  'sealed-log': {
    may: ['kernel', 'postgres', 'event-store', 'evidence', 'merkle', 'proofs'],
    because: 'the auditor keeps these tables, and whoever gives answers proves them from there',
  },
  documents: { may: ['kernel'], because: 'reading XML needs no database and no registry' },
  'event-store': { may: ['kernel', 'postgres'], because: 'the log carries events of any noun and knows none' },
  tasks: { may: ['kernel', 'postgres'], because: 'durable work is the same whatever the work is' },
  configuration: {
    may: ['kernel', 'postgres', 'event-store'],
    because:
      'it compares what programs say of themselves and keeps it in the log; what a setting means it does not know',
  },
  retention: { may: ['kernel', 'postgres'], because: 'it removes rows a few at a time, by rules that it is given' },
  evidence: { may: ['kernel', 'postgres'], because: 'bytes are kept by digest, whatever they mean' },
  bus: { may: ['kernel', 'postgres'], because: 'it carries messages and reads none' },
  backup: {
    may: ['kernel', 'postgres'],
    because: 'it carries rows of tables that it knows by name, and reads none of them',
  },
  rights: {
    may: ['kernel', 'postgres'],
    because: 'it knows tables by name and who may do what with each; what is in them it does not know',
  },
  telemetry: { may: ['kernel'], because: 'it carries figures and spans to whoever watches, and reads none of them' },
  subscriptions: {
    may: ['kernel', 'postgres', 'event-store', 'tasks'],
    because: 'it stores state, tasks and checkpoint in one transaction, of sagas it does not know',
  },
  'registry-client': {
    may: ['kernel', 'postgres', 'secret-files', 'tasks'],
    because: 'the one way out knows sessions and call budgets, not the business',
  },
  'read-models': {
    may: ['kernel', 'postgres', 'event-store', 'evidence', 'documents', 'domain', 'subscriptions'],
    because: 'projections follow the log and evidence; they never command, so no tasks and no registry',
  },
  duckdb: { may: ['kernel'], because: 'it runs what it is given over files, and knows no table of ours' },
  segments: {
    may: ['kernel', 'postgres', 'duckdb', 'subscriptions', 'documents', 'read-models', 'merkle', 'proofs'],
    because: 'it reads the tables of one read model as they are, and folds them as documents say; no log, no registry',
  },
  'item-claims': {
    may: [
      ...['kernel', 'postgres', 'event-store', 'evidence', 'documents', 'domain', 'subscriptions', 'tasks'],
      'read-models',
    ],
    because: 'it decides by log and evidence which document waits for which, and plans first sends',
  },
  reconciliation: {
    may: [
      ...['kernel', 'postgres', 'duckdb', 'event-store', 'evidence', 'documents', 'domain', 'subscriptions'],
      ...['read-models', 'segments', 'service'],
    ],
    because:
      'it compares what others have stored, as far as their checkpoints say; the worker makes its registry calls',
  },
};

const known = Object.keys(LIBRARIES);
/** Specs, and the suites that every adapter of a port must pass. */
const CONTRACT = '/contract[a-z-]*\\.ts$';
/** What tests of several parts share of a library; production never imports it. */
const TEST_SUPPORT = '^libs/[^/]+/test/';
/** Specs, and what tests share. */
const SPEC = ['\\.spec\\.ts$', CONTRACT, '^(apps|libs)/[^/]+/test/'];
/** What `npm run build` writes to dist/. */
const BUILT = [...SOURCE_FOLDERS.map((folder) => `^${folder}/`), ...SOURCE_FILES.map((file) => `^${file}$`)];
/** Campaigns of the soak that run as specs, not from dist/. */
const CAMPAIGNS = '^test/chaos/(auditor|reconciler)/';
const FRONT_DOOR = '^libs/[^/]+/src/index\\.ts$';

const perLibrary = known.map((name) => {
  const { may, because } = LIBRARIES[name];
  return {
    name: `library-${name}`,
    comment: `libs/${name} imports ${may.length > 0 ? may.join(', ') : 'no library'}: ${because}.`,
    severity: 'error',
    from: { path: `^libs/${name}/` },
    to: { path: '^libs/', pathNot: `^libs/(${[name, ...may].join('|')})/` },
  };
});

/** Only the folders in `allowed` may import the package, types included. */
const packageOnlyIn = (name, allowed, because) => ({
  name: `only-there-${name.replace(/^@/, '').replaceAll('/', '-')}`,
  comment: `${name} only in ${allowed.join(', ')}: ${because}.`,
  severity: 'error',
  from: { path: '^(apps|libs|test)/', pathNot: allowed.map((folder) => `^${folder}/`) },
  to: { path: `(^|/)node_modules/(@types/)?${name}(/|$)` },
});

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...perLibrary,
    {
      name: 'library-not-listed',
      comment:
        'Every library has a line in .dependency-cruiser.mjs that says what it may import. Add one, with its reason.',
      severity: 'error',
      from: { path: '^libs/', pathNot: `^libs/(${known.join('|')})/` },
      to: { path: '.' },
    },
    {
      name: 'no-cycles',
      comment: 'Modules that need each other are one module or lack a third; type-only cycles count too.',
      severity: 'error',
      from: { path: '^(apps|libs|test)/' },
      to: { circular: true },
    },
    {
      name: 'front-door-only',
      comment:
        'A library is what its src/index.ts exports; what lies behind it may change without asking. Specs may use ' +
        'what the tests of another library are made with.',
      severity: 'error',
      from: { path: '^libs/([^/]+)/' },
      to: { path: '^libs/', pathNot: ['^libs/$1/', FRONT_DOOR, TEST_SUPPORT] },
    },
    {
      name: 'front-door-only-from-outside',
      comment:
        'Programs and tests over all programs use libraries by their front doors too; those tests may use what the ' +
        'tests of a library are made with.',
      severity: 'error',
      from: { path: '^(apps|test)/' },
      to: { path: '^libs/', pathNot: [FRONT_DOOR, TEST_SUPPORT] },
    },
    {
      name: 'test-support-for-tests-alone',
      comment: 'What tests share is not there where the product runs.',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: SPEC },
      to: { path: TEST_SUPPORT },
    },
    {
      name: 'front-door-by-name',
      comment:
        'The front door is written #name (package.json, imports), never as a path: a reader sees where a library ends.',
      severity: 'error',
      from: { path: '^(libs|apps)/([^/]+)/' },
      to: { path: FRONT_DOOR, pathNot: '^$1/$2/', dependencyTypesNot: ['aliased-subpath-import'] },
    },
    {
      name: 'own-front-door',
      comment: 'Inside a library the parts import each other, not the front door, which depends on all of them.',
      severity: 'error',
      from: { path: '^libs/([^/]+)/', pathNot: SPEC },
      to: { path: '^libs/$1/src/index\\.ts$' },
    },
    {
      name: 'libs-import-no-app',
      comment: 'A library serves any program, so it knows none.',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^apps/' },
    },
    {
      name: 'apps-import-no-app',
      comment: 'Programs meet in the database and over HTTP, not in memory; only the pedigree program starts them all.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/', pathNot: '^apps/cli/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'sandbox-stands-alone',
      comment: 'The sandbox shares identifiers and nothing else: a rule with one source could be wrong on both sides.',
      severity: 'error',
      from: { path: '^apps/sandbox/', pathNot: SPEC },
      to: { path: '^libs/', pathNot: '^libs/kernel/' },
    },
    {
      name: 'nest-only-in-apps',
      comment: 'Libraries are plain TypeScript: they outlive the framework and are tested without it.',
      severity: 'error',
      from: { pathNot: '^apps/' },
      to: { path: '(^|/)node_modules/@nestjs/' },
    },
    {
      name: 'tests-stay-outside',
      comment: 'Production code imports nothing from test/. Specs may; only the pedigree program imports the bench.',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: [...SPEC, '^apps/cli/'] },
      to: { path: '^test/' },
    },
    {
      name: 'built-with-what-it-imports',
      comment: 'dist/ has what apps/cli/bin/compile.mjs lists: what a built file imports must be listed, too.',
      severity: 'error',
      from: { path: BUILT, pathNot: [...SPEC, CAMPAIGNS] },
      to: { path: '^(apps|libs|test)/', pathNot: BUILT, dependencyTypesNot: ['type-only', 'type-import'] },
    },
    {
      name: 'no-spec-as-module',
      comment: 'A spec is run, not imported: what two specs need lies in test/support.',
      severity: 'error',
      from: { path: '.' },
      to: { path: '\\.spec\\.ts$' },
    },
    {
      name: 'contract-only-in-specs',
      comment: 'A contract suite is a test: the product does not carry it.',
      severity: 'error',
      from: { path: '^(apps|libs|test)/', pathNot: SPEC },
      to: { path: CONTRACT },
    },
    {
      name: 'pure-libraries-touch-nothing',
      comment: 'The vocabulary, the business and the proofs are pure: no files, no network, no processes, no clocks.',
      severity: 'error',
      from: { path: '^libs/(kernel|domain|merkle|proofs)/', pathNot: SPEC },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|buffer|assert|util)$' },
    },
    packageOnlyIn(
      '@eventstore/db-client',
      ['libs/event-store', 'test/support/event-store-fake', 'test/bench/log'],
      'Only its adapter, the fake that stands in for it, and the bench of the adapter know the engine of the log.',
    ),
    packageOnlyIn(
      '@duckdb/node-api',
      ['libs/duckdb'],
      'its limits, its temporary folder and its settings are set in one place',
    ),
    packageOnlyIn(
      'undici',
      ['libs/registry-client', 'apps/sandbox', 'apps/cli', 'test'],
      'there is one way out, and manners are kept in it',
    ),
    packageOnlyIn(
      'nodemailer',
      ['apps/worker/src/mail'],
      'mail goes out in one place, and never in the way of anything',
    ),
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere would escape every other rule.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'package-is-declared',
      comment: 'A package that is only there because another one needs it may be gone tomorrow.',
      severity: 'error',
      from: { path: '^(apps|libs|test)/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-development-package-in-production',
      comment: 'Development packages are not there where the product runs.',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: SPEC },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'], pathNot: 'node_modules/@types/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: '(^|/)node_modules/' },
    exclude: { path: '^(dist|coverage|\\.pedigree)/' },
    // `types` first: #name then leads to the source of a library, whether or not anything was built.
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['types', 'import', 'require', 'node', 'default'],
    },
  },
};
