import type { Command, Option } from 'commander';
import { PedigreeError } from '#kernel';

/** Options that are not called as the field of the API that they fill. */
const OPTION_OF: Record<string, string> = {
  doc_type: '--type',
  purpose: '--for',
  registered_from: '--since',
  registered_to: '--until',
  operation_from: '--since',
  operation_to: '--until',
  recent_days: '--recent',
  given_up: '--given-up',
};

/** Runs a command; commander gives the command itself behind its arguments and options. */
export async function namingOptions<Args extends unknown[]>(
  run: (...args: Args) => Promise<number>,
  args: Args,
): Promise<number> {
  try {
    return await run(...args);
  } catch (error) {
    throw namedByOption(error, args.at(-1) as Command);
  }
}

/**
 * An error about what an option said, by the name of the option: it is wrong usage (`invalid_configuration`). Any other
 * error stays as it is, for example about a field of a file.
 */
function namedByOption(error: unknown, command: Command): unknown {
  if (!(error instanceof PedigreeError)) return error;
  const { code, message, place } = error;
  if (place.field === undefined || !['invalid_parameter', 'invalid_command'].includes(code)) return error;
  const option = optionFor(place.field, command);
  if (option === undefined) return error;
  const why = message.startsWith(`${place.field}: `) ? message.slice(place.field.length + 2) : message;
  return new PedigreeError('invalid_configuration', `${option}: ${why.replace(`${option}: `, '')}`, {
    ...place,
    field: option,
  });
}

/** The option that the command line gave for a field: `/place`, `known_at` or `--needed`. */
function optionFor(field: string, command: Command): string | undefined {
  const name = field.replace(/^(--|\/)/, '');
  const names = [`--${name.replaceAll('_', '-')}`, OPTION_OF[name]];
  const isGiven = (option: Option): boolean => command.getOptionValueSource(option.attributeName()) === 'cli';
  return command.options.find((one) => names.includes(one.long ?? '') && isGiven(one))?.long ?? undefined;
}
