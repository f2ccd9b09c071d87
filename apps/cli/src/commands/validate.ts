import { buffer } from 'node:stream/consumers';
import { schemaSetsIn, validateDocument, type SchemaSets, type Validation } from '#documents';
import { defined } from '#kernel';
import { readProfile } from '#registry-client';
import type { CliConfig } from '../config.js';
import { out, say } from '../print.js';
import { readWhole } from './send.js';

export interface ValidateFlags {
  json?: boolean;
  schemas?: string;
}

/** Exit status for a file that cannot be read. */
const UNREADABLE = 2;

/** Prints what is wrong with each file. Returns 0 when nothing is, 1 when one is bad, 2 when one cannot be read. */
export async function validateFiles(config: CliConfig, files: string[], flags: ValidateFlags): Promise<number> {
  const { documentVersions } = readProfile(config.registryProfile, config.registryProfileOverrides);
  const sets = schemaSetsIn(flags.schemas ?? config.schemaDir, documentVersions);
  await sets.verify();
  let status = 0;
  for (const file of files) status = Math.max(status, await validateFile(file, sets, flags.json === true));
  return status;
}

async function validateFile(file: string, schemas: SchemaSets, json: boolean): Promise<number> {
  const bytes = await (file === '-' ? buffer(process.stdin) : readWhole(file)).catch((error: Error) => error);
  if (bytes instanceof Error) {
    say(bytes.message.startsWith(file) ? bytes.message : `${file}: ${bytes.message}`);
    return UNREADABLE;
  }
  const validation = validateDocument(bytes, schemas);
  out(json ? JSON.stringify(answered(file, validation)) : printed(file, validation));
  return validation.problems.length === 0 ? 0 : 1;
}

const answered = (file: string, { problems, more, schemaSet, version, docType }: Validation) => ({
  file,
  valid: problems.length === 0,
  ...defined({ schema_set: schemaSet, version, doc_type: docType }),
  problems,
  more,
});

function printed(file: string, { problems, more }: Validation): string {
  if (problems.length === 0) return `${file}: ok`;
  const lines = problems.map(({ line, path, sentence }) => {
    const place = [file, line].filter((part) => part !== undefined).join(':');
    return path === '' ? `${place}: ${sentence}` : `${place}: ${path}: ${sentence}`;
  });
  return [...lines, ...(more ? [`${file}: and more`] : [])].join('\n');
}
