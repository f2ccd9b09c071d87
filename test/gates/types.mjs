import { join, relative } from 'node:path';
import ts from 'typescript';

/** The gate `types`: the compiler over everything that tsconfig.json includes, specs too. */
export function check(root) {
  const program = programOf(root);
  if (program === undefined)
    return { files: [], findings: [{ rule: 'config', file: 'tsconfig.json', message: 'cannot be read' }] };
  const read = program.getSourceFiles().map((file) => relative(root, file.fileName));
  return {
    files: read.filter((path) => !path.includes('node_modules/')),
    findings: ts.getPreEmitDiagnostics(program).map((diagnostic) => describe(root, diagnostic)),
  };
}

const programs = new Map();

/** What tsconfig.json of `root` includes, for the compiler: read once, for all gates of a process. */
export function programOf(root) {
  if (!programs.has(root)) programs.set(root, readProgram(root));
  return programs.get(root);
}

function readProgram(root) {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  const config = ts.getParsedCommandLineOfConfigFile(join(root, 'tsconfig.json'), { noEmit: true }, host);
  return (
    config &&
    ts.createProgram({
      rootNames: config.fileNames,
      options: config.options,
      configFileParsingDiagnostics: config.errors,
    })
  );
}

function describe(root, diagnostic) {
  const place = diagnostic.file?.getLineAndCharacterOfPosition(diagnostic.start ?? 0);
  const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ');
  return {
    rule: `TS${diagnostic.code}`,
    file: diagnostic.file === undefined ? 'tsconfig.json' : relative(root, diagnostic.file.fileName),
    message: place === undefined ? message : `line ${place.line + 1}: ${message}`,
  };
}
