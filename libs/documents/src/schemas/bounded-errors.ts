import * as libxml2 from 'libxml2-wasm/lib/libxml2.mjs';
import type { ErrorDetail } from 'libxml2-wasm';

/** What the package keeps to itself: how it makes a function known to libxml2, and what it hears errors with. */
interface Internals {
  addFunction(heard: (index: number, error: ErrorPointer) => void, signature: string): number;
  error: { errorCollector: number; storage: { get(index: number): ErrorDetail[] } };
}
type ErrorPointer = Parameters<typeof libxml2.XmlErrorStruct.node>[0];

const { addFunction, error } = libxml2 as unknown as Internals;

let most = Number.POSITIVE_INFINITY;
/** Of the last error: several rules may be broken by one text. */
let last: { node: unknown; path: string | null } | undefined;

/** About the validator itself: it says so after each wrong text that must stand once, and tells nothing new. */
const REMARK = 'No precomputed value available';

/**
 * The package's own listener works out the path of each error, which takes longer the later a row stands: 12,000
 * errors at the end of 25,000 rows hold the process for seven seconds, and the validator cannot be stopped. This one
 * hears the first ones only.
 */
const listener = addFunction((index, pointer) => {
  const heard = error.storage.get(index);
  const { file, message, level, line, col } = libxml2.XmlErrorStruct;
  const at = pointer as unknown as number;
  if (heard.length >= most) return;
  const text = message(at);
  if (text.includes(REMARK)) return;
  const node = libxml2.XmlErrorStruct.node(pointer);
  if (last?.node !== node) last = { node, path: libxml2.xmlGetNodePath(node) };
  const { path } = last;
  const name = file(at);
  heard.push({
    message: text,
    level: level(at),
    line: line(at),
    col: col(at),
    ...(name === null ? {} : { file: name }),
    ...(path === null ? {} : { xpath: path }),
  });
}, 'vii');

/** Runs with at most so many errors told. */
export function withBoundedErrors<T>(atMost: number, run: () => T): T {
  const usual = error.errorCollector;
  most = atMost;
  error.errorCollector = listener;
  try {
    return run();
  } finally {
    error.errorCollector = usual;
    last = undefined;
  }
}
