import { type DynamicModule, Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { AccountRepository } from './account/account-repository.js';
import { DecideAccountHandler } from './account/decide-account.js';
import { DecideDocumentHandler } from './document/decide-document.js';
import { DocumentRepository } from './document/document-repository.js';
import { DecideGroupHandler } from './group/decide-group.js';
import { GroupRepository } from './group/group-repository.js';
import { DecideInboundHandler } from './inbound/decide-inbound.js';
import { InboundRepository } from './inbound/inbound-repository.js';

/**
 * Commands to the nouns of the domain, by the CommandBus. Its EventBus and sagas are not used: they live in memory
 * (principles 3.2).
 */
@Module({})
export class WorkerModule {
  static of({
    documents,
    groups,
    inbound,
    accounts,
  }: {
    documents: DocumentRepository;
    groups: GroupRepository;
    inbound: InboundRepository;
    accounts: AccountRepository;
  }): DynamicModule {
    return {
      module: WorkerModule,
      imports: [CqrsModule.forRoot()],
      providers: [
        { provide: DocumentRepository, useValue: documents },
        { provide: GroupRepository, useValue: groups },
        { provide: InboundRepository, useValue: inbound },
        { provide: AccountRepository, useValue: accounts },
        ...[DecideDocumentHandler, DecideGroupHandler, DecideInboundHandler, DecideAccountHandler],
      ],
    };
  }
}
