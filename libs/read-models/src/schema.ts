import type { MigrationSet } from '#postgres';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { DocumentOutcomeEntity } from './document-outcomes/row.js';

/** The tables of every read model, a set per folder. */
export const readModelSchemas: MigrationSet[] = [
  { name: 'read-models/document-outcomes', directory: new URL('./document-outcomes/migrations/', import.meta.url) },
  { name: 'read-models/sgtin-history', directory: new URL('./sgtin-history/migrations/', import.meta.url) },
];

/**
 * TypeORM over the read models: opened (`initialize()`) and closed (`destroy()`) by the caller. Only reads go through it, so its sessions are
 * read-only; the tables are made by the .sql files alone.
 */
export function readModelDataSource(options: { connectionString: string; maxConnections?: number }): DataSource {
  return new DataSource({
    type: 'postgres',
    driver: pg,
    url: options.connectionString,
    poolSize: options.maxConnections ?? 4,
    applicationName: 'pedigree-read-models',
    entities: [DocumentOutcomeEntity],
    synchronize: false,
    migrationsRun: false,
    installExtensions: false,
    extra: { options: '-c TimeZone=UTC -c statement_timeout=30s -c default_transaction_read_only=on' },
  });
}
