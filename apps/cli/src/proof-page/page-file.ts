import { createHash } from 'node:crypto';
import { PedigreeError } from '#kernel';
import { asPageData } from '#proofs';
import type { TrustedKeys } from './check.js';

/** What the page is made of besides the proof: from the build. */
export interface PageParts {
  /** The verifier, one script. */
  script: string;
  style: string;
}

/** Browsers hold half a gigabyte of text; a longer proof is checked by the command. */
export const MOST_PROOF_CHARACTERS = 256 * 1024 * 1024;

/**
 * One HTML file with the proof and its verifier. It asks nobody for anything: its policy forbids every script but its
 * own, and every request. Throws PedigreeError where the proof is too long.
 */
export function pageFile(proof: string, trusted: TrustedKeys, { script, style }: PageParts): string {
  if (proof.length > MOST_PROOF_CHARACTERS)
    throw new PedigreeError(
      'invalid_parameter',
      `the proof is longer than ${MOST_PROOF_CHARACTERS} characters, too long for a page; check it with audit verify`,
      { field: 'file' },
    );
  const policy = [
    "default-src 'none'",
    `script-src ${sourceHash(script)}`,
    `style-src ${sourceHash(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Proof from an audit log</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>Proof from an audit log</h1>
<p>This page has events of a log, what proves them, and a program that checks it. It needs no network.</p>
<p id="status" role="status" class="verdict">Nothing is checked yet: the program of this page has not run.</p>
</header>
<main id="page"></main>
<script type="application/json" id="trusted">${asPageData(JSON.stringify(trusted))}</script>
<script type="application/x-ndjson" id="proof">
${asPageData(proof)}
</script>
<script>${script}</script>
</body>
</html>
`;
}

/** Throws where the text would end its element or change on the way. */
function sourceHash(text: string): string {
  if (/<\/(?:script|style)|<!--|\r/i.test(text)) throw new Error('this text cannot be written into a page');
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
