import { defined } from '#kernel';
/** A fenced block of a page, by the words of its fence: ```sh run, ```js run feed.mjs, ```sh not-run="needs Docker". */
export interface Block {
  page: string;
  /** Of the fence, from 1. */
  line: number;
  language: string;
  /** `run` and `not-run`; absent where the fence says neither. */
  mark?: 'run' | 'not-run';
  /** Why it is not run. */
  reason?: string;
  /** For what is a file and no command: its name. */
  file?: string;
  /** Runs in a terminal of its own and stays up. */
  terminal: boolean;
  /** The terminal that is stopped first, by its name. */
  replaces?: string;
  /** What its output holds in the end: a terminal says it, anything else is typed again until it does. */
  until?: string;
  /** The status with which a command of it ends, where that is not 0. */
  exits: number;
  /** What the story knows it by. */
  name?: string;
  text: string;
}

const FENCE = /^```(\w+)([^\n]*)\n([\s\S]*?)^```$/gm;
const WORD = /([\w.-]+)(?:=(?:"([^"]*)"|'([^']*)'|(\S+)))?/g;
const SHELLS = new Set(['sh', 'bash', 'shell', 'console']);

export const isShell = (block: Block): boolean => SHELLS.has(block.language);

/** Every fenced block of a page, in order. */
export function blocksOf(page: string, markdown: string): Block[] {
  return [...markdown.matchAll(FENCE)].map(({ 1: language = '', 2: info = '', 3: text = '', index }) => {
    const words = new Map(
      [...info.matchAll(WORD)].map(([, word = '', ...values]) => [word, values.find((one) => one !== undefined) ?? '']),
    );
    const file = [...words.keys()].find((word) => /\.\w+$/.test(word));
    const mark = words.has('run') ? 'run' : words.has('not-run') ? 'not-run' : undefined;
    return {
      page,
      line: markdown.slice(0, index).split('\n').length,
      language,
      text,
      terminal: words.has('terminal'),
      exits: Number(words.get('exits') ?? 0),
      ...defined({ mark }),
      ...(words.get('not-run') === undefined ? {} : { reason: words.get('not-run') as string }),
      ...defined({ file }),
      ...(words.get('until') === undefined ? {} : { until: words.get('until') as string }),
      ...(words.get('replaces') === undefined ? {} : { replaces: words.get('replaces') as string }),
      ...(words.get('name') === undefined ? {} : { name: words.get('name') as string }),
    };
  });
}

/**
 * The commands of a block as a person would paste them: continued lines, texts over several lines and here-documents
 * belong to their command.
 */
export function commandsIn(text: string): string[] {
  const commands: string[] = [];
  let open = '';
  for (const line of text.split('\n')) {
    if (open === '' && /^\s*(#|$)/.test(line)) continue;
    open = open === '' ? line : `${open}\n${line}`;
    if (isWhole(open)) {
      commands.push(open);
      open = '';
    }
  }
  return open === '' ? commands : [...commands, open];
}

function isWhole(command: string): boolean {
  const end = /<<-?\s*['"]?(\w+)['"]?/.exec(command)?.[1];
  if (end !== undefined) return new RegExp(`\\n${end}$`).test(command);
  const unquoted = command.replace(/'[^']*'|"(?:\\.|[^"\\])*"/g, '');
  return !unquoted.endsWith('\\') && !/['"]/.test(unquoted.replace(/\\./g, '').replace(/\s#.*$/gm, ''));
}

/** Commands (`npx pedigree send FILE`) and requests (`GET /v1/documents`) that the running text of a page names. */
export function mentionsIn(markdown: string): { commands: string[]; requests: string[] } {
  const words = [...markdown.replace(FENCE, '').matchAll(/`([^`\n]+)`/g)].map((match) => match[1] as string);
  return {
    commands: words.filter((one) => /^(npx )?pedigree \w/.test(one)).map((one) => one.replace(/^npx /, '')),
    requests: words.filter((one) => /^(GET|POST|PUT|DELETE) \/\S+$/.test(one)),
  };
}
