import { Inject } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { DocumentCommand, DocumentEvent, DocumentState } from '#domain';
import type { Cause } from '../noun/noun-repository.js';
import { DocumentRepository } from './document-repository.js';

/**
 * A command to one document, carried by the CommandBus. Answers with the events that followed and the state they led
 * to.
 */
export class DecideDocument {
  constructor(
    readonly requestId: string,
    readonly command: DocumentCommand,
    readonly cause: Cause,
  ) {}
}

export interface Decided {
  events: DocumentEvent[];
  state: DocumentState;
}

@CommandHandler(DecideDocument)
export class DecideDocumentHandler implements ICommandHandler<DecideDocument, Decided> {
  constructor(@Inject(DocumentRepository) private readonly documents: DocumentRepository) {}

  execute({ requestId, command, cause }: DecideDocument): Promise<Decided> {
    return this.documents.execute(requestId, command, cause);
  }
}
