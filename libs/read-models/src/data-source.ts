import type { Pool } from '#postgres';
import { DataSource } from 'typeorm';
import { DocumentOpenEntity, DocumentOutcomeEntity } from './document-outcomes/row.js';

/**
 * TypeORM over the caller's pool: it borrows connections from there and owns none, so there is nothing to close.
 * The tables are made by the .sql files alone; `synchronize` is never on.
 */
export function dataSourceOver(pool: Pool): Promise<DataSource> {
  // TypeORM makes its pool by `new driver.Pool(...)`; a constructor that returns an object gives that object.
  const driver = {
    Pool: function SharedPool() {
      return pool;
    },
  };
  return new DataSource({
    type: 'postgres',
    driver,
    entities: [DocumentOutcomeEntity, DocumentOpenEntity],
    synchronize: false,
    migrationsRun: false,
    installExtensions: false,
  }).initialize();
}
