import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type * as Libxml2 from 'libxml2-wasm';
import { refused, type SchemaFiles } from './schema-files.js';

/** The industry's set compiles in 0.3 s and 60 MB. */
export interface CompileLimits {
  timeMs: number;
  /** By which the memory of this process may grow meanwhile. */
  memoryBytes: number;
}
const MEGABYTE = 1024 * 1024;
const USUAL_LIMITS: CompileLimits = { timeMs: 20_000, memoryBytes: 512 * MEGABYTE };
const LOOK_MS = 25;

interface Work {
  library: string;
  root: string;
  files: [string, Uint8Array][];
}
type Outcome = { ok: true } | { file?: string; line: number; message: string };

/**
 * Compiles a set in a thread of its own, which is ended when it takes too long or too much memory, so that a set that
 * was made to harm is refused and harms nobody. Rejects with PedigreeError `invalid_schema_set` with file and line.
 */
export async function compileApart({ bytes, root }: SchemaFiles, limits = USUAL_LIMITS): Promise<void> {
  const library = pathToFileURL(createRequire(import.meta.url).resolve('libxml2-wasm')).href;
  const work: Work = { library, root, files: [...bytes] };
  const thread = new Worker(`(${compileHere.toString()})()`, { eval: true, workerData: work, stderr: true });
  const outcome = await outcomeWithin(thread, limits).finally(() => thread.terminate());
  if (!('ok' in outcome)) throw refused(outcome.file ?? root, outcome.line, outcome.message);
}

function outcomeWithin(thread: Worker, { timeMs, memoryBytes }: CompileLimits): Promise<Outcome> {
  const before = process.memoryUsage.rss();
  const started = performance.now();
  return new Promise((resolve) => {
    const settle = (outcome: Outcome): void => {
      clearInterval(watch);
      resolve(outcome);
    };
    const watch = setInterval(() => {
      if (performance.now() - started > timeMs)
        settle({ line: 0, message: `the set is not compiled within ${timeMs / 1000} s` });
      else if (process.memoryUsage.rss() - before > memoryBytes)
        settle({
          line: 0,
          message: `to compile the set takes more than ${Math.floor(memoryBytes / MEGABYTE)} MB of memory`,
        });
    }, LOOK_MS);
    thread.once('message', settle);
    thread.once('error', (error) => settle({ line: 0, message: `the set cannot be compiled: ${error.message}` }));
    thread.once('exit', () => settle({ line: 0, message: 'the set cannot be compiled: the compiler gave up' }));
  });
}

/** Runs in the thread, as text: it knows nothing but what it imports itself. */
async function compileHere(): Promise<void> {
  const { parentPort, workerData } = await import('node:worker_threads');
  const { library, root, files } = workerData as Work;
  const libxml2 = (await import(library)) as typeof Libxml2;
  const place = 'schema-set:/';
  const provider = new libxml2.XmlBufferInputProvider({});
  libxml2.xmlRegisterInputProvider(provider);
  for (const [name, content] of files) provider.addBuffer(`${place}${name}`, content);
  const rootBytes = files.find(([name]) => name === root)?.[1] ?? new Uint8Array();
  try {
    const schema = libxml2.XmlDocument.fromBuffer(rootBytes, {
      url: `${place}${root}`,
      option: libxml2.ParseOption.XML_PARSE_NONET | libxml2.ParseOption.XML_PARSE_NO_XXE,
    });
    libxml2.XsdValidator.fromDoc(schema);
    parentPort?.postMessage({ ok: true });
  } catch (error) {
    const detail = error instanceof libxml2.XmlLibError ? error.details[0] : undefined;
    const { file, line, message } = detail ?? { line: 0, message: String(error) };
    parentPort?.postMessage({ file: file?.replace(place, ''), line, message: message.trim() });
  }
}
