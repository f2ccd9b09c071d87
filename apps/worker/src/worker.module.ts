import { type DynamicModule, Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { DecideDocumentHandler } from './document/decide-document.js';
import { DocumentRepository } from './document/document-repository.js';

/** Commands to the nouns of the domain, by the CommandBus. Its EventBus and sagas are not used: they live in memory (DESIGN section 3). */
@Module({})
export class WorkerModule {
  static of(documents: DocumentRepository): DynamicModule {
    return {
      module: WorkerModule,
      imports: [CqrsModule.forRoot()],
      providers: [{ provide: DocumentRepository, useValue: documents }, DecideDocumentHandler],
    };
  }
}
