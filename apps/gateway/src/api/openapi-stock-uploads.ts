import { FINISHED_KEPT_DAYS, MOST_FILE_BYTES, MOST_OPEN } from '../stock-uploads/stock-uploads.js';
import { answered, body, errors, inPath, text } from './openapi-parts.js';
import { stockUploadBody } from './stock-upload-parameters.js';
import { PART_EXAMPLE } from './openapi-examples.js';

const UPLOAD_ID = inPath('uploadId', 'The id of the upload: the answer that began it names it.');
const NEEDS = 'It needs RECONCILE_STOCK_FOLDER at the gateway, else 404.';
const tags = ['Reconciliation'];

/** Stock files in parts. */
export const stockUploadPaths = {
  '/v1/stock-uploads': {
    post: {
      ...{ operationId: 'beginStockUpload', tags },
      summary: 'Begin to upload a stock file in parts, or go on with it',
      description:
        'The same name, length, digest and moment are the same upload: the answer tells which parts are there. ' +
        `At most ${MOST_OPEN} uploads are open, and a file has at most ${MOST_FILE_BYTES / 2 ** 30} GiB. ${NEEDS}`,
      requestBody: body('beginStockUpload', stockUploadBody),
      responses: { 200: answered('StockUpload', 'As it stands now'), ...errors(404, 503) },
    },
  },
  '/v1/stock-uploads/{uploadId}': {
    get: {
      ...{ operationId: 'showStockUpload', tags },
      summary: 'One upload: which parts are there, which are missing, or the file that it became',
      parameters: [UPLOAD_ID],
      responses: { 200: answered('StockUpload', 'As it stands now'), ...errors(404, 503) },
    },
  },
  '/v1/stock-uploads/{uploadId}/parts/{n}': {
    put: {
      ...{ operationId: 'putStockUploadPart', tags },
      summary: 'Send one part, in any order; the same again changes nothing',
      description: 'Another content for the same part takes its place. Of a finished upload no part is needed.',
      parameters: [
        UPLOAD_ID,
        inPath('n', 'The number of the part, from 1.'),
        {
          ...{ name: 'Content-Digest', in: 'header', required: true, schema: text },
          description: 'SHA-256 of the part (RFC 9530): `sha-256=:<base64>:`.',
          example: PART_EXAMPLE.digest,
        },
      ],
      requestBody: {
        required: true,
        content: {
          'application/octet-stream': {
            schema: { ...text, format: 'binary' },
            examples: { only: { summary: 'The only part of a small file', value: PART_EXAMPLE.text } },
          },
        },
      },
      responses: { 204: { description: 'It is kept, durably' }, ...errors(404, 408, 413, 415, 503) },
    },
  },
  '/v1/stock-uploads/{uploadId}/finish': {
    post: {
      ...{ operationId: 'finishStockUpload', tags },
      summary: 'Give the file to the reconciler, once all of it is there',
      description:
        'Length and digest of the whole are checked. Parts that are missing, or other content, are answered 409. A ' +
        `finished upload is answered as before, for ${FINISHED_KEPT_DAYS} days.`,
      parameters: [UPLOAD_ID],
      responses: { 200: answered('StockUpload', 'The finished upload'), ...errors(404, 409, 503) },
    },
  },
};
