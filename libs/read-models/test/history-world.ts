import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { typeKnowledge } from '#documents';
import { inTransaction } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { emptyTables } from '../../../test/support/empty-tables.js';
import type { HistoryQuery } from '../src/port.js';
import { readModelSchemas } from '../src/schema.js';
import { readContent } from '../src/sgtin-history/content.js';
import { NOW } from '../src/sgtin-history/life-rows.js';
import { sgtinHistoryProjection } from '../src/sgtin-history/projection.js';
import { historyOf } from '../src/sgtin-history/query.js';
import { jsonDocuments, LogOfTest } from './fixture.js';

/** The histories of a log that each test writes anew, in a database of the spec. */
export class HistoryWorld {
  db!: TestDatabase;
  log!: LogOfTest;

  constructor() {
    beforeAll(async () => void (this.db = await testDatabase(readModelSchemas)));
    afterAll(() => this.db.drop());
    beforeEach(async () => {
      this.log = new LogOfTest();
      await emptyTables(this.db.pool, this.projection());
    });
  }

  projection = () => sgtinHistoryProjection({ evidence: this.log.evidence, documents: jsonDocuments });

  matching = () => this.log.events.filter((event) => this.projection().filter.types?.includes(event.type));

  projectAll = () => inTransaction(this.db.pool, (tx) => this.projection().project(this.matching(), tx));

  /** Each event in a page of its own. */
  projectEach = async () => {
    for (const event of this.matching())
      await inTransaction(this.db.pool, (tx) => this.projection().project([event], tx));
  };

  history = (sgtin: string, query: HistoryQuery = {}) =>
    historyOf(this.db.pool, sgtin, {
      ...query,
      types: { ...typeKnowledge, titleOf: (docType) => `type ${docType}` },
    });

  contentOf = async (container: string) =>
    (await readContent(this.db.pool, container, { known: NOW, types: typeKnowledge })).stays.map(({ item }) => item);

  /** A movement in a word: `701`, through a container `415@<container>`. */
  trail = async (sgtin: string, query: HistoryQuery = {}) =>
    (await this.history(sgtin, query))?.movements.map(
      (one) =>
        `${one.docType}${one.through === undefined ? '' : `@${one.item}`}` +
        (one.result === 'applied' ? '' : ` ${one.result}`),
    );
}
