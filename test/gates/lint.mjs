import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ESLint } from 'eslint';
import { programOf } from './types.mjs';

const CONFIG = fileURLToPath(new URL('../../eslint.config.mjs', import.meta.url));
const ERROR = 2;

/**
 * The gate `eslint`. Warnings are wishes that are counted: their number by rule may not rise above
 * test/gates/ratchet.json. The working directory must be `root`, for the configuration speaks of paths below it.
 */
export async function check(root) {
  const eslint = new ESLint({
    cwd: root,
    overrideConfigFile: CONFIG,
    overrideConfig: typesFrom(programOf(root)),
    warnIgnored: false,
  });
  const results = await eslint.lintFiles(['.']);
  const messages = results.flatMap((result) =>
    result.messages.map((message) => ({ ...message, file: relative(root, result.filePath) })),
  );
  const errors = messages.filter((message) => message.severity === ERROR);
  const wishes = messages.filter((message) => message.severity !== ERROR);
  const ratchet = judgeWishes(root, wishes);
  return {
    files: results.map((result) => relative(root, result.filePath)),
    findings: [...errors.map(describe), ...ratchet.findings],
    notes: ratchet.notes,
  };
}

/** The configuration has ESLint work out the types itself; here another gate has done so. */
const typesFrom = (program) => ({
  files: ['**/*.ts'],
  languageOptions: { parserOptions: { projectService: false, programs: [program] } },
});

const describe = (message) => ({
  rule: message.ruleId ?? (message.fatal ? 'parse' : 'directive'),
  file: message.file,
  message: `line ${message.line}: ${message.message}`,
});

function judgeWishes(root, wishes) {
  const path = join(root, 'test/gates/ratchet.json');
  const allowed = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  const rules = new Set([...Object.keys(allowed), ...wishes.map((wish) => wish.ruleId)]);
  const findings = [];
  const notes = [];
  for (const rule of rules) {
    const mine = wishes.filter((wish) => wish.ruleId === rule);
    const most = allowed[rule] ?? 0;
    if (mine.length > most) {
      findings.push(
        { rule, file: 'test/gates/ratchet.json', message: `${mine.length} warnings, at most ${most}:` },
        ...mine.map(describe),
      );
    } else if (mine.length < most)
      notes.push(`${rule}: ${mine.length} warnings; lower test/gates/ratchet.json from ${most}`);
  }
  return { findings, notes };
}
