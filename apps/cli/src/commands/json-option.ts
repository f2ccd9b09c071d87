import { readFileSync } from 'node:fs';
import { PedigreeError } from '#kernel';

/** The JSON of a file that an option names. @throws PedigreeError `invalid_parameter` that names option and file. */
export function readJsonOption(option: string, file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new PedigreeError('invalid_parameter', `${option}: ${file} is not JSON: ${(error as Error).message}`, {
      field: option,
      file,
    });
  }
}
