/**
 * The bus: the ERP's commands in, the outcomes out; RabbitMQ, or the embedded default on PostgreSQL, behind one port.
 * Promise: a confirmed command is handled at least once; what cannot be handled is kept with its reason; an outcome is
 * published at least once, under a stable id. Proven in: contract.ts, run by each adapter's *.int.spec.ts;
 * rabbitmq/uncounted.int.spec.ts, rabbitmq/quorum-queues.int.spec.ts (what we rely on of the broker), and the other
 * specs of rabbitmq/.
 */
export * from './port.js';
export * from './rabbitmq/rabbitmq-bus.js';
export { busNames } from './rabbitmq/topology.js';
export * from './postgres/postgres-bus.js';
export * from './postgres/schema.js';
export { removeDeadLetters } from './postgres/remove-dead-letters.js';
export * from './open-bus.js';
