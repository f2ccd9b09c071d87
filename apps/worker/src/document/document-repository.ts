import {
  ABSENT,
  decide,
  documentStream,
  evolve,
  type DocumentCommand,
  type DocumentEvent,
  type DocumentState,
} from '#domain';
import { NounRepository, type Noun, type RepositoryOptions } from '../noun/noun-repository.js';

const DOCUMENT: Noun<DocumentState, DocumentCommand, DocumentEvent> = {
  name: 'document',
  streamOf: documentStream,
  initial: ABSENT,
  decide,
  begins: (command) => command.type === 'Register',
  evolve,
  isOver: (state) => state.phase === 'concluded',
};

/** Documents, one stream each. */
export class DocumentRepository extends NounRepository<DocumentState, DocumentCommand, DocumentEvent> {
  constructor(options: RepositoryOptions) {
    super(DOCUMENT, options);
  }
}
