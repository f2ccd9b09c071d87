/**
 * Files that hold secrets: keys, accounts, passwords.
 * Promise: what every user of the machine could read or change is not used, and the file and its mode are said.
 * Proven in: read-secret-file.spec.ts.
 */
export * from './read-secret-file.js';
