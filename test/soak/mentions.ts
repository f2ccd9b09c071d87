import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openApiDocument } from '../../apps/gateway/src/api/openapi.js';
import { mentionsIn } from './page.js';

const run = promisify(execFile);
const ANY_INSTALLATION = '5e2d7c10-0000-4000-8000-000000000001';
/** Of the health port, which has no description. */
const HEALTH_PORT = new Set(['GET /metrics']);
/** It is a program of its own, with flags of its own. */
const OTHER_HELP = new Set(['sandbox']);

export interface Mentioned {
  commands: number;
  requests: number;
  /** Mentions of what is not there. */
  wrong: string[];
}

/** Whether every command, option and route that the running text of a page names is there. */
export async function checkMentions(markdown: string, root: string): Promise<Mentioned> {
  const { commands, requests } = mentionsIn(markdown);
  const helps = new Map<string, string>();
  const wrong: string[] = [];
  for (const command of commands) {
    const [words, options] = partsOf(command);
    if (OTHER_HELP.has(words[0] ?? '')) continue;
    const name = words.join(' ');
    if (!helps.has(name)) helps.set(name, await helpOf(words, root));
    const help = helps.get(name) ?? '';
    const usage = /^Usage: pedigree ([a-z -]*[a-z])(.*)$/m.exec(help);
    // What is left over is an argument, where the command takes one.
    if (
      usage === null ||
      !name.startsWith(usage[1] as string) ||
      (name !== usage[1] && !/[<[](?!options|command)/.test(usage[2] ?? ''))
    )
      wrong.push(`\`${command}\`: there is no command pedigree ${name}`);
    wrong.push(
      ...options
        .filter((option) => !help.includes(option))
        .map((option) => `\`${command}\`: pedigree ${name} has no option ${option}`),
    );
  }
  return {
    commands: commands.length,
    requests: requests.length,
    wrong: [
      ...wrong,
      ...requests
        .filter((one) => !HEALTH_PORT.has(one) && !isRoute(one))
        .map((one) => `\`${one}\`: there is no such route or parameter`),
    ],
  };
}

/** The names of commands, up to the first argument, and the options. */
function partsOf(command: string): [string[], string[]] {
  const words = command.split(/\s+/).slice(1);
  const end = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word));
  return [end < 0 ? words : words.slice(0, end), words.flatMap((word) => /^\[?(--[a-z-]+)/.exec(word)?.[1] ?? [])];
}

async function helpOf(words: string[], root: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, 'dist/apps/cli/src/main.js'), ...words, '--help']).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  );
  return stdout;
}

const { paths } = openApiDocument(ANY_INSTALLATION) as {
  paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>;
};

function isRoute(request: string): boolean {
  const [verb = '', target = ''] = request.split(' ');
  const [path = '', query = ''] = target.split('?');
  return Object.entries(paths).some(([template, methods]) => {
    const operation = methods[verb.toLowerCase()];
    const known = operation?.parameters?.filter((one) => one.in === 'query').map((one) => one.name) ?? [];
    // `…` stands for what was said before.
    const shape = new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`);
    const fits = path.startsWith('…') ? template.endsWith(path.slice(1)) : shape.test(path);
    return (
      operation !== undefined &&
      fits &&
      query.split('&').every((one) => one === '' || known.includes(one.split('=')[0] ?? ''))
    );
  });
}
