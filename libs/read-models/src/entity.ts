/**
 * Of TypeORM its decorators alone, and the metadata that they leave: the whole library, with its drivers, would take a
 * quarter of a second of every program's start.
 */
export { Column } from 'typeorm/decorator/columns/Column.js';
export { Entity } from 'typeorm/decorator/entity/Entity.js';
export { getMetadataArgsStorage } from 'typeorm/globals.js';
export type { ColumnOptions } from 'typeorm';
