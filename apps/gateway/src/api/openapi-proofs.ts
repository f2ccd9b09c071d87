import { errors, text } from './openapi-parts.js';

const PROOF = {
  name: 'proof',
  in: 'query',
  required: false,
  description:
    '1: the answer as a file that proves it (pedigree-proof/3, NDJSON): the body of the plain answer, all events ' +
    'that it was made from, their evidence, a C2SP tlog-proof for each, and the signed checkpoint. It takes a key of ' +
    'the role operator or auditor. `pedigree audit verify FILE --key KEY` checks it without this server. What is not ' +
    'sealed yet is in the file, and named so; where nothing of it is, the answer is 503 `not_sealed_yet`.',
  schema: { enum: ['1'] },
};

interface Described {
  parameters?: object[];
  responses: Record<string, object>;
}

/** The same operation, whose answer can be had with its proof. */
export const provable = <Operation extends Described>(operation: Operation) => {
  const answered = operation.responses[200] as { description: string; content: object };
  return {
    ...operation,
    parameters: [...(operation.parameters ?? []), PROOF],
    responses: {
      ...operation.responses,
      200: {
        ...answered,
        description: `${answered.description}; with proof=1 as lines of a proof`,
        content: { 'application/x-ndjson': { schema: text }, ...answered.content },
      },
      ...errors(503),
    },
  };
};
