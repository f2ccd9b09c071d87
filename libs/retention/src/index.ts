/**
 * Removes rows that are old enough to go: one background job for every table that has an end. Promise: one process at a
 * time for each table, few rows in a statement, little time in a round; a round that was broken off goes on where it
 * stood. Proven in: run-removals.int.spec.ts; each table's own rule beside the table.
 */
export * from './run-removals.js';
