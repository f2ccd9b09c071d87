import { body, errors, FILES, inPath, orFile, queryParameters } from './openapi-parts.js';
import { packCheckBody, packListParameters, seriesSourceParameters, stockParameters } from './parameters.js';

const OF_SERIES = [
  inPath('gtin', 'The GTIN of the product, 14 digits.'),
  inPath('series', 'The number of the series, as documents write it.'),
];

/** Questions about many packs as they stand now. */
export const packPaths = {
  '/v1/packs': {
    get: {
      operationId: 'listPacks',
      tags: ['Packs'],
      summary: 'List packs as they stand now, by SGTIN, each with the document that told it',
      description: `A page may hold fewer packs than asked for and still name the next one. ${FILES}`,
      parameters: queryParameters(packListParameters),
      responses: {
        200: orFile('PackPage', 'A page of packs'),
        ...errors(422),
      },
    },
  },
  '/v1/packs/checks': {
    post: {
      operationId: 'checkPacks',
      tags: ['Packs'],
      summary: 'May these packs be received, picked, shipped, returned or sold here now, and why not',
      description:
        'From our record alone; the answer says how old that is. For a sale it is advice only: the till asks the ' +
        `registry itself. ${FILES}`,
      requestBody: body('checkPacks', packCheckBody),
      responses: {
        200: orFile('PackChecks', 'An answer for each code, in their order'),
        ...errors(408, 413, 415, 422, 503),
      },
    },
  },
  '/v1/stock': {
    get: {
      operationId: 'showStock',
      tags: ['Packs'],
      summary: 'How many packs stand alike: by place, product, series, expiry and status',
      description: FILES,
      parameters: queryParameters(stockParameters),
      responses: {
        200: orFile('Stock', 'A line for all packs that stand alike, at most 10,000 lines'),
        ...errors(422),
      },
    },
  },
  '/v1/series/{gtin}/{series}': {
    get: {
      operationId: 'showSeries',
      tags: ['Packs'],
      summary: 'The file of a series: what was received, from whom, and what became of every pack, by branch',
      description: FILES,
      parameters: OF_SERIES,
      responses: {
        200: orFile('SeriesFile', 'Every pack counts once; each figure says where its packs can be looked at'),
        ...errors(404, 422, 503),
      },
    },
  },
  '/v1/series/{gtin}/{series}/sources': {
    get: {
      operationId: 'listSeriesSources',
      tags: ['Packs'],
      summary: 'The documents by which packs of a series came, the largest first',
      description:
        'All pages are of the log position of the first one. When the packs of a source in the list change, the next ' +
        `page is answered 409 list_changed: begin again. ${FILES}`,
      parameters: [...OF_SERIES, ...queryParameters(seriesSourceParameters)],
      responses: {
        200: orFile('SeriesSourcePage', 'A page of sources, each with its packs'),
        ...errors(409, 422, 503),
      },
    },
  },
};
