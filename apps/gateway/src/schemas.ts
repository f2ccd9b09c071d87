import { restorationSchema } from '#backup';
import { busSchema } from '#bus';
import { eventStoreSchema } from '#event-store';
import { evidenceSchema } from '#evidence';
import { installationSchema, type MigrationSet } from '#postgres';
import { readModelSchemas } from '#read-models';
import { reconciliationSchema } from '#reconciliation';
import { segmentsSchema } from '#segments';
import { serviceSchema } from '#service';
import { subscriptionsSchema } from '#subscriptions';
import { tasksSchema } from '#tasks';
import { outcomesSchema } from './outcomes/delivery-table.js';
import { webhooksSchema } from './webhooks/schema.js';

/** The tables that the gateway needs. A command that makes them loads no gateway. */
export const gatewaySchemas: MigrationSet[] = [
  installationSchema,
  serviceSchema,
  restorationSchema,
  { name: 'gateway-intake', directory: new URL('./intake/migrations/', import.meta.url) },
  { name: 'gateway-access', directory: new URL('./access/migrations/', import.meta.url) },
  eventStoreSchema,
  evidenceSchema,
  tasksSchema,
  busSchema,
  subscriptionsSchema,
  ...readModelSchemas,
  segmentsSchema,
  outcomesSchema,
  webhooksSchema,
  reconciliationSchema,
];
