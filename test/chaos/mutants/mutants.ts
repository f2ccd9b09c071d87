/** One change of a source: `find` stands there exactly once. */
export interface Edit {
  file: string;
  find: string;
  replace: string;
}

/** A bug that a campaign must catch. */
export interface Mutant {
  name: string;
  /** Which promise it breaks. */
  about: string;
  edits: Edit[];
  /** What a check must say, as `check: sentence`: another complaint does not count. */
  caughtBy: RegExp;
}

export const MUTANTS: Mutant[] = [
  {
    name: 'resend-without-grace',
    about: 'sends again after the first look-up that finds nothing',
    edits: [
      {
        file: 'libs/domain/src/attempt/decide.ts',
        find: 'lookUps >= proof.lookUps && (!proof.isPastGrace || sinceAttemptEndedMs >= unknownGraceMs)',
        replace: 'lookUps >= 1',
      },
    ],
    caughtBy: /^manners: .*premature_resend/,
  },
  {
    name: 'own-document-as-inbound',
    about: 'takes a document of ours for one of others while its send is unconfirmed, and counts it twice',
    edits: [
      {
        file: 'apps/worker/src/inbound/read-list.ts',
        find: '(known !== undefined && known !== documentId)',
        replace: 'known !== documentId',
      },
      {
        file: 'apps/worker/src/inbound/note-listed.ts',
        find: "return state.phase !== 'concluded' || state.documentId !== undefined;",
        replace: "return 'documentId' in state && state.documentId !== undefined;",
      },
    ],
    caughtBy: /^inbound: .* was taken for a document of others/,
  },
  {
    name: 'released-by-the-first',
    about: 'releases a document when the first of several predecessors has succeeded',
    edits: [
      {
        file: 'libs/domain/src/document/hold.ts',
        find: "return { kind: 'lifted', isLast: isOnlyFor(waiting, requestId) }",
        replace: "return { kind: 'lifted', isLast: true }",
      },
    ],
    caughtBy: /^after-chains: .*(before .* was processed|which it comes after, is not|came before)/,
  },
  {
    name: 'containers-forgotten',
    about: 'claims no container around a pack: a container is opened while a pack inside it is on its way',
    edits: [
      {
        file: 'libs/item-claims/src/claim-book.ts',
        find: 'for (const parent of this.parents.get(item) ?? []) {',
        replace: 'for (const parent of new Set<string>()) {',
      },
    ],
    caughtBy: /^item-waits: .* was sent at/,
  },
  {
    name: 'items-free-for-all',
    about: 'claims nothing against anybody: two documents of one pack are under way at the same time',
    edits: [
      {
        file: 'libs/item-claims/src/claim-book.ts',
        find: '(one) => one.unit !== unit && (isExclusive || one.isExclusive)',
        replace: '() => false && (unit === item || isExclusive)',
      },
    ],
    caughtBy: /^item-waits: .* was sent at/,
  },
  {
    name: 'others-pack-nothing',
    about: 'does not see what documents of others pack: a container and a pack in it are under way at the same time',
    edits: [
      {
        file: 'libs/item-claims/src/page-of-claims.ts',
        find: 'if (!mayChangeByOthers(event.data)) return;',
        replace: "if (!mayChangeByOthers(event.data) || event.data.channel === 'cabinet') return;",
      },
    ],
    caughtBy: /^inbound: others packed .* and it is in none/,
  },
  {
    name: 'cursor-past-unconfirmed',
    about: 'moves the cursor of the bus past outcomes that the broker has not confirmed',
    edits: [
      {
        file: 'apps/gateway/src/outcomes/publisher.ts',
        find: 'return { confirmed: 0, failure: { reason: (error as Error).message } };',
        replace: 'return { confirmed: batch.length };',
      },
    ],
    caughtBy: /^outcomes: bus: .* was never told/,
  },
  {
    name: 'call-after-lease',
    about: 'writes a call after the lease of its task has ended, because the process was frozen',
    edits: [
      {
        file: 'apps/worker/src/registry-tasks/attempt.ts',
        find: 'Math.min(nowMs + WRITE_WITHIN_MS, call.heldUntilMs())',
        replace: 'nowMs + 3_600_000 + 0 * (WRITE_WITHIN_MS + call.heldUntilMs())',
      },
    ],
    caughtBy: /^(manners: .*duplicate_request_id|documents: .* was sent \d+ times)/,
  },
  {
    name: 'repeat-by-name-alone',
    about:
      'takes another event for a repeat of an earlier one because task, stream, version and type are the same: a ' +
      'document is stuck for ever',
    edits: [
      {
        file: 'apps/worker/src/aggregate/aggregate-repository.ts',
        find: '${cause.taskKey}@${cause.lease}@${this.aggregate.streamOf(id)}@${version}/${event.type}/${digest}',
        replace: '${cause.taskKey}@${this.aggregate.streamOf(id)}@${version}/${event.type}',
      },
    ],
    caughtBy: /^orphans: .* is stuck/,
  },
];
