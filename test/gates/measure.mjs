/**
 * Measures the house: `node test/gates/measure.mjs [FOLDER] [--libraries] [--test]` prints the figures of the tree at
 * FOLDER (default: this one), so that two versions can be compared by one measure. `--libraries` adds a line for each
 * app and library; `--test` also runs `npm test` there and tells its seconds.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { listFiles } from './tree.mjs';

const MOST_FUNCTION_LINES = 40;
const MOST_COMPLEXITY = 10;
const MOST_COLUMNS = 120;
const THIN_FILE_LINES = 15;

const isCode = (path) => /^(apps|libs|test)\/.*\.(ts|mts|mjs)$/.test(path) && !path.endsWith('.d.mts');
const isTest = (path) =>
  /(\.spec\.ts$|^test\/|^libs\/[^/]+\/src\/contract|^apps\/[^/]+\/test\/|^libs\/[^/]+\/test\/)/.test(path);
const linesOf = (text) => text.replace(/\n$/, '').split('\n');

/** All figures of the tree at `root`; lines and tokens per app and library are in `parts`. */
export function measure(root) {
  const files = listFiles(root).map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
  const code = files.filter(({ path }) => isCode(path)).map(figuresOf);
  const production = code.filter(({ path }) => !isTest(path));
  return {
    files: code.length,
    productionFiles: production.length,
    productionLines: sum(production, 'lines'),
    productionTokens: sum(production, 'tokens'),
    testLines: sum(code, 'lines') - sum(production, 'lines'),
    thinFiles: production.filter(({ lines }) => lines < THIN_FILE_LINES).length,
    longFunctions: sum(code, 'longFunctions'),
    complexFunctions: sum(code, 'complexFunctions'),
    wideLines: sum(code, 'wideLines'),
    casts: sum(production, 'casts'),
    danglingReferences: danglingReferences(files).length,
    parts: partsOf(code),
  };
}

const sum = (files, figure) => files.reduce((total, file) => total + file[figure], 0);

function partsOf(code) {
  const names = [
    ...new Set(
      code.map(({ path }) =>
        path
          .split('/')
          .slice(0, path.startsWith('test/') ? 1 : 2)
          .join('/'),
      ),
    ),
  ];
  return names.map((name) => {
    const own = code.filter(({ path }) => path.startsWith(`${name}/`));
    const production = own.filter(({ path }) => !isTest(path));
    const lines = sum(production, 'lines');
    return { name, files: own.length, lines, tokens: sum(production, 'tokens'), testLines: sum(own, 'lines') - lines };
  });
}

function figuresOf({ path, text }) {
  const lines = linesOf(text);
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const functions = functionsIn(source);
  return {
    path,
    lines: lines.length,
    tokens: tokensIn(source),
    wideLines: lines.filter((line) => line.length > MOST_COLUMNS).length,
    casts: (text.match(/\bas unknown as\b/g) ?? []).length,
    longFunctions: isTest(path) ? 0 : functions.filter((one) => codeLines(one, source) > MOST_FUNCTION_LINES).length,
    complexFunctions: functions.filter((one) => complexityOf(one) > MOST_COMPLEXITY).length,
  };
}

/** Tokens as TypeScript sees them: the leaves of the tree, without comments and blanks. */
function tokensIn(source) {
  let tokens = 0;
  const visit = (node) => {
    const children = node
      .getChildren(source)
      .filter((child) => child.kind < ts.SyntaxKind.FirstJSDocNode || child.kind > ts.SyntaxKind.LastJSDocNode);
    if (children.length === 0) tokens += node.getWidth(source) > 0 ? 1 : 0;
    else children.forEach(visit);
  };
  visit(source);
  return tokens;
}

function functionsIn(source) {
  const found = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body !== undefined) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Lines that hold code: blank ones and comments do not count. */
function codeLines(node, source) {
  const own = linesOf(source.text.slice(node.getStart(source), node.end));
  return own.filter((line) => !/^\s*($|\/\/|\/?\*)/.test(line)).length;
}

const BRANCHES = new Set([
  ts.SyntaxKind.IfStatement,
  ts.SyntaxKind.ConditionalExpression,
  ts.SyntaxKind.ForStatement,
  ts.SyntaxKind.ForInStatement,
  ts.SyntaxKind.ForOfStatement,
  ts.SyntaxKind.WhileStatement,
  ts.SyntaxKind.DoStatement,
  ts.SyntaxKind.CaseClause,
  ts.SyntaxKind.QuestionDotToken,
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
]);

/** Cyclomatic complexity as ESLint's rule of that name counts it; a nested function has a count of its own. */
function complexityOf(node) {
  let branches = 1;
  const visit = (child) => {
    if (ts.isFunctionLike(child)) return;
    if (BRANCHES.has(child.kind)) branches += 1;
    ts.forEachChild(child, visit);
  };
  node.parameters.forEach((parameter) => (branches += parameter.initializer === undefined ? 0 : 1));
  ts.forEachChild(node.body, visit);
  return branches;
}

const REFERENCE =
  /\b(DESIGN|STYLE|STACK|public-facts|principles|registry-interface|[Ii]nterface|decision)(?:,? (?:section )?(\d+(?:\.\d+)*))?(?![\w.-]*\.md)/g;
/** Words that are references only with a number behind them. */
const ONLY_NUMBERED = /^(principles|registry-interface|[Ii]nterface|decision)$/;

/** References to a text, or to a section of it, that the tree does not hold. */
function danglingReferences(files) {
  const headings = new Map(
    files
      .filter(({ path }) => /^docs\/[^/]+\.md$/.test(path))
      .map(({ path, text }) => [path.slice(5, -3), headingsOf(text)]),
  );
  const decisions = new Set(files.map(({ path }) => Number(/^docs\/decisions\/(\d+)/.exec(path)?.[1])));
  return files
    .filter(
      ({ path }) =>
        /^(apps|libs|test|docs|docker)\/|^README\.md$/.test(path) &&
        !/^test\/gates\/|registry-interface\.md$|public-facts\.md$/.test(path),
    )
    .flatMap(({ path, text }) => [...text.matchAll(REFERENCE)].map(([, name, section]) => ({ path, name, section })))
    .filter(({ name, section }) => section !== undefined || !ONLY_NUMBERED.test(name))
    .filter(
      ({ name, section }) =>
        !(name === 'decision' ? decisions.has(Number(section)) : headings.get(name.toLowerCase())?.has(section ?? '')),
    );
}

const headingsOf = (text) =>
  new Set(['', ...[...text.matchAll(/^#+ (?:section )?(\d+(?:\.\d+)*)/gm)].map((match) => match[1])]);

/** @returns {number | undefined} Seconds, or undefined when the tests did not pass. */
function secondsOfTests(root) {
  const begun = performance.now();
  const { status } = spawnSync('npm', ['test'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  return status === 0 ? Math.round((performance.now() - begun) / 1_000) : undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  const root = resolve(args.find((arg) => !arg.startsWith('--')) ?? '.');
  if (!existsSync(join(root, 'package.json'))) throw new Error(`${root} holds no package.json`);
  const { parts, ...figures } = measure(root);
  for (const [name, figure] of Object.entries(figures)) console.log(`${name.padEnd(20)} ${figure}`);
  if (args.includes('--libraries'))
    for (const { name, files, lines, tokens, testLines } of parts)
      console.log(`${name.padEnd(24)} ${files} files, ${lines} lines, ${tokens} tokens, tests ${testLines} lines`);
  if (args.includes('--test')) console.log(`${'secondsOfTests'.padEnd(20)} ${secondsOfTests(root) ?? 'tests failed'}`);
}
