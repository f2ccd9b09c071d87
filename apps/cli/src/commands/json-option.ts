import { readFileSync } from 'node:fs';
import { PedigreeError } from '#kernel';

/** The JSON of a file that an option names. @throws PedigreeError `invalid_parameter` that names option and file. */
export function readJsonOption(option: string, file: string): unknown {
  const text = textOf(option, file);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refusal(option, file, `is not JSON: ${(error as Error).message}`);
  }
}

function textOf(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw refusal(option, file, code === 'ENOENT' ? 'is not there' : `cannot be read (${code})`);
  }
}

const refusal = (option: string, file: string, why: string): PedigreeError =>
  new PedigreeError('invalid_parameter', `${option}: ${file} ${why}`, { field: option, file });
