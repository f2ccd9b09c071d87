import { type DynamicModule, Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import type { SchemaSets } from '#documents';
import type { EventStore } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Pool } from '#postgres';
import type { ReadModels } from '#read-models';
import type { ServiceLog } from '#service';
import { Accounts } from './accounts/accounts.js';
import { AccessLogController } from './api/access-log.controller.js';
import { AccountsController } from './api/accounts.controller.js';
import { AccessLog } from './access/access-log.js';
import type { ApiKeys } from './access/api-keys.js';
import type { BodyLimits } from './api/body-limits.js';
import { CasesController } from './api/cases.controller.js';
import { MockRecallsController } from './api/mock-recalls.controller.js';
import { ReportsController } from './api/reports.controller.js';
import { CommandsController } from './api/commands.controller.js';
import { DocumentationController } from './api/documentation.controller.js';
import { DeadLettersController } from './api/dead-letters.controller.js';
import { GroupsController } from './api/groups.controller.js';
import {
  BODY_LIMITS,
  EVIDENCE,
  INSTALLATION_ID,
  LOG,
  POOL,
  QUERY_HANDLERS,
  READ_MODELS,
  SCHEMAS,
  STORE,
} from './api/queries.js';
import { HoldsController } from './api/holds.controller.js';
import { InboundController } from './api/inbound.controller.js';
import { EvidenceController } from './api/evidence.controller.js';
import { OutcomesController } from './api/outcomes.controller.js';
import { OperationsController } from './api/operations.controller.js';
import { PackListsController } from './api/pack-lists.controller.js';
import { PacksController } from './api/packs.controller.js';
import { ReadController } from './api/read.controller.js';
import { StockUploadsController } from './api/stock-uploads.controller.js';
import { SuspensionsController } from './api/suspensions.controller.js';
import { TimelinessController } from './api/timeliness.controller.js';
import { ValidateController } from './api/validate.controller.js';
import { WebhooksController } from './api/webhooks.controller.js';
import { ResendsController } from './api/resends.controller.js';
import { Cases } from './cases/cases.js';
import { MockRecalls } from './mock-recalls/mock-recalls.js';
import { Intake } from './intake/intake.js';
import { DeadLetters } from './operations/dead-letters.js';
import { Operations } from './operations/operations.js';
import { Webhooks } from './webhooks/webhooks.js';
import { ReconciliationsController } from './api/reconciliations.controller.js';
import { Reconciliations } from './reconciliations/reconciliations.js';
import { Holds } from './holds/holds.js';
import { InboundRetries } from './inbound/inbound-retries.js';
import { StockUploads } from './stock-uploads/stock-uploads.js';
import { Suspensions } from './suspensions/suspensions.js';
import { Resends } from './resends/resends.js';
import { Outcomes } from './outcomes/outcomes.js';

export interface GatewayParts {
  pool: Pool;
  store: EventStore;
  intake: Intake;
  keys: ApiKeys;
  accessLog: AccessLog;
  accounts: Accounts;
  operations: Operations;
  deadLetters: DeadLetters;
  reconciliations: Reconciliations;
  cases: Cases;
  suspensions: Suspensions;
  mockRecalls: MockRecalls;
  stockUploads: StockUploads;
  holds: Holds;
  inboundRetries: InboundRetries;
  resends: Resends;
  outcomes: Outcomes;
  webhooks: Webhooks;
  evidence: EvidenceStore;
  readModels: ReadModels;
  installationId: string;
  bodyLimits: BodyLimits;
  schemas: SchemaSets;
  log: ServiceLog;
}

const CONTROLLERS = [
  CommandsController,
  ValidateController,
  ReadController,
  EvidenceController,
  PackListsController,
  PacksController,
  InboundController,
  TimelinessController,
  ResendsController,
  HoldsController,
  GroupsController,
  AccessLogController,
  AccountsController,
  OperationsController,
  DeadLettersController,
  OutcomesController,
  WebhooksController,
  ReconciliationsController,
  CasesController,
  SuspensionsController,
  ReportsController,
  MockRecallsController,
  StockUploadsController,
  DocumentationController,
];

@Module({})
export class GatewayModule {
  static of(parts: GatewayParts): DynamicModule {
    return {
      module: GatewayModule,
      imports: [CqrsModule.forRoot()],
      controllers: CONTROLLERS,
      providers: [
        { provide: POOL, useValue: parts.pool },
        { provide: AccessLog, useValue: parts.accessLog },
        { provide: STORE, useValue: parts.store },
        { provide: Intake, useValue: parts.intake },
        { provide: Accounts, useValue: parts.accounts },
        { provide: Operations, useValue: parts.operations },
        { provide: DeadLetters, useValue: parts.deadLetters },
        { provide: Reconciliations, useValue: parts.reconciliations },
        { provide: Cases, useValue: parts.cases },
        { provide: Suspensions, useValue: parts.suspensions },
        { provide: MockRecalls, useValue: parts.mockRecalls },
        { provide: StockUploads, useValue: parts.stockUploads },
        { provide: Holds, useValue: parts.holds },
        { provide: InboundRetries, useValue: parts.inboundRetries },
        { provide: Resends, useValue: parts.resends },
        { provide: Outcomes, useValue: parts.outcomes },
        { provide: Webhooks, useValue: parts.webhooks },
        { provide: EVIDENCE, useValue: parts.evidence },
        { provide: READ_MODELS, useValue: parts.readModels },
        { provide: INSTALLATION_ID, useValue: parts.installationId },
        { provide: BODY_LIMITS, useValue: parts.bodyLimits },
        { provide: SCHEMAS, useValue: parts.schemas },
        { provide: LOG, useValue: parts.log },
        ...QUERY_HANDLERS,
      ],
    };
  }
}
