import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { CqrsModule } from '@nestjs/cqrs';
import type { Logger } from 'pino';
import type { EvidenceStore } from '#evidence';
import type { Pool } from '#postgres';
import type { ReadModels } from '#read-models';
import { AccessGuard } from './access/access.guard.js';
import { ApiKeys } from './access/api-keys.js';
import type { BodyLimits } from './api/body-limits.js';
import { CommandsController } from './api/commands.controller.js';
import { DocumentationController } from './api/documentation.controller.js';
import { HealthController } from './api/health.controller.js';
import { BODY_LIMITS, EVIDENCE, INSTALLATION_ID, LOG, POOL, QUERY_HANDLERS, READ_MODELS } from './api/queries.js';
import { OperationsController } from './api/operations.controller.js';
import { ReadController } from './api/read.controller.js';
import { Intake } from './intake/intake.js';
import { Operations } from './operations/operations.js';

export interface GatewayParts {
  pool: Pool;
  intake: Intake;
  keys: ApiKeys;
  operations: Operations;
  evidence: EvidenceStore;
  readModels: ReadModels;
  installationId: string;
  bodyLimits: BodyLimits;
  log: Logger;
}

@Module({})
export class GatewayModule {
  static of(parts: GatewayParts): DynamicModule {
    return {
      module: GatewayModule,
      imports: [CqrsModule.forRoot()],
      controllers: [CommandsController, ReadController, OperationsController, HealthController, DocumentationController],
      providers: [
        { provide: POOL, useValue: parts.pool },
        { provide: Intake, useValue: parts.intake },
        { provide: ApiKeys, useValue: parts.keys },
        { provide: Operations, useValue: parts.operations },
        { provide: EVIDENCE, useValue: parts.evidence },
        { provide: READ_MODELS, useValue: parts.readModels },
        { provide: INSTALLATION_ID, useValue: parts.installationId },
        { provide: BODY_LIMITS, useValue: parts.bodyLimits },
        { provide: LOG, useValue: parts.log },
        { provide: APP_GUARD, useClass: AccessGuard },
        ...QUERY_HANDLERS,
      ],
    };
  }
}
