import { readTree } from './tree.mjs';
import { TIDY_RULES } from './tidy-rules.mjs';

/** The gate `tidy`: what the tree itself must look like. */
export function check(root) {
  const files = readTree(root);
  return { files: files.map((file) => file.path), findings: TIDY_RULES.flatMap((rule) => rule(files)) };
}
