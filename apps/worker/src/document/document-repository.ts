import {
  ABSENT,
  decide,
  documentStream,
  evolve,
  type DocumentCommand,
  type DocumentEvent,
  type DocumentState,
} from '#domain';
import { AggregateRepository, type Aggregate, type RepositoryOptions } from '../aggregate/aggregate-repository.js';

const DOCUMENT: Aggregate<DocumentState, DocumentCommand, DocumentEvent> = {
  name: 'document',
  streamOf: documentStream,
  initial: ABSENT,
  decide,
  begins: (command) => command.type === 'Register',
  evolve,
  isOver: (state) => state.phase === 'concluded',
};

/** Documents, one stream each. */
export class DocumentRepository extends AggregateRepository<DocumentState, DocumentCommand, DocumentEvent> {
  constructor(options: RepositoryOptions) {
    super(DOCUMENT, options);
  }
}
