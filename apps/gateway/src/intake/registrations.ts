import {
  buildDocument,
  checkDocument,
  documentTypeOf,
  splitDocument,
  withSessionUi,
  type DocumentFacts,
  type DocumentJson,
  type SchemaSets,
} from '#documents';
import {
  firstCommandOf,
  isResumed,
  MAX_GROUP_MEMBERS,
  stopperOf,
  type DocumentReference,
  type GroupKind,
  type GroupMembership,
  type GroupRegistration,
  type Registration,
  type SuspensionFinding,
} from '#domain';
import type { EvidenceStore } from '#evidence';
import { defined, PedigreeError, requestIdOf, type Sha256 } from '#kernel';
import type { NamedPacks } from '#read-models';
import type { CommandBody, MemberBody } from './command-body.js';
import type { HaltedGroup } from './halted-group.js';
import { ItemWarnings } from './item-warnings.js';

export interface RegistrationsOptions {
  evidence: Pick<EvidenceStore, 'get' | 'put'>;
  installationId: string;
  /** The longest document that is taken, from the profile (rules.maxLargeDocumentBytes). */
  maxDocumentBytes: number;
  /** Most items in one document of a type: the least of what schema and profile say. A larger one is split. */
  maxItems(docType: number): number;
  /** What documents are checked and built by. */
  schemas: SchemaSets;
  /** Which packs of a document are suspended; absent: nobody asks. */
  packsSuspended?: (document: NamedPacks) => Promise<SuspensionFinding | undefined>;
  /** Told once a command from which of its documents on nobody was asked any more: it took too long. */
  packsNotAsked?: (from: { field: string }) => void;
}

/** Longest that the marks of one command are asked for. */
const MOST_MARKED_MS = 10_000;

type Given = Pick<MemberBody, 'xml' | 'document'>;

interface Read {
  xml: Uint8Array;
  facts: DocumentFacts;
}

/** Where in the command a document was given. */
const fieldOf = ({ xml }: Given, field: string): string => `${field}/${xml === undefined ? 'document' : 'xml'}`;

/**
 * Names a document that has no command of its own. Command ids hold no control characters, so nothing else has this id.
 */
const inside = (commandId: string, index: number): string => `${commandId}\u0000${index}`;

/**
 * Makes of what the ERP sent what the domain registers. Every document is checked as far as it can be without the
 * registry, and its bytes are evidence before this returns. Errors are placed in what the ERP sent.
 */
export class Registrations {
  constructor(private readonly options: RegistrationsOptions) {}

  /**
   * One document; a group of parts where it has more items than one may have. `earlierSha256`: of the document that is
   * sent again by it.
   */
  async document(
    body: CommandBody,
    account: string,
    earlierSha256?: Sha256,
  ): Promise<Registration | GroupRegistration> {
    const warnings = new ItemWarnings();
    const { given, parts } = this.read(body, '', warnings);
    await this.markSuspended(parts, { field: fieldOf(body, ''), warnings });
    const told = defined({ warnings: warnings.list });
    const after = this.referencesOf(body);
    const [only] = parts;
    if (parts.length === 1 && only !== undefined)
      return {
        ...(await this.unlike(await this.registrationOf(body, { account, read: only }), earlierSha256)),
        after,
        ...told,
        ...waiverOf(body),
      };
    const original = await this.options.evidence.put(given, 'application/xml');
    const itemCount = parts.reduce((sum, part) => sum + part.facts.items.length, 0);
    const group = this.membership(body.command_id, { kind: 'split', of: parts.length });
    const members = await Promise.all(
      parts.map(async (read, index) => ({
        ...(await this.registrationOf(body, { account, read })),
        requestId: this.idOf(inside(body.command_id, index)),
        group: group(index),
      })),
    );
    const { docType } = (only as Read).facts;
    return {
      ...this.groupOf(body, { account, kind: 'split', members }),
      after,
      original: { documentSha256: original, byteLength: given.length, docType, itemCount },
      ...told,
      ...waiverOf(body),
    };
  }

  /** Documents that are processed in order. Each is known by a command id of its own. */
  async group(body: CommandBody, account: string): Promise<GroupRegistration> {
    const given = body.group?.members ?? [];
    const field = (index: number): string => `/group/members/${index}`;
    refuseTwice([body.command_id, ...given.map((one) => one.command_id)]);
    const group = this.membership(body.command_id, { kind: 'given', of: given.length });
    const members: Registration[] = [];
    const warnings = new ItemWarnings();
    for (const [index, one] of given.entries())
      members.push({ ...(await this.member(one, { account, field: field(index), warnings })), group: group(index) });
    return {
      ...this.groupOf(body, { account, kind: 'given', members }),
      after: this.referencesOf(body),
      ...defined({ warnings: warnings.list }),
      ...waiverOf(body),
    };
  }

  /** What is left of a group that halted: the corrected member in its place, and what was not processed, in order. */
  async resumption(body: CommandBody, account: string, halted: HaltedGroup): Promise<GroupRegistration> {
    const { registration: old } = halted;
    const stopped = stopperOf(halted);
    const corrected = body.resume?.corrected;
    refuseUnfit(halted, { stopped, corrected });
    if (corrected !== undefined) refuseTwice([body.command_id, corrected.command_id]);
    const kept = old.members.flatMap((member, index) => (isResumed(halted, index) ? [{ member, index }] : []));
    if (kept.length === 0) throw nothingLeft(old);
    const group = this.membership(body.command_id, { kind: 'resumption', of: kept.length });
    const warnings = new ItemWarnings();
    const members: Registration[] = [];
    // One after the other: each is read again, and together they may be larger than the memory.
    for (const [place, { member, index }] of kept.entries()) {
      const supersedes = { commandId: member.commandId, requestId: member.requestId };
      const here = { group: group(place), supersedes, account };
      const again =
        index === stopped?.index && corrected !== undefined
          ? {
              ...(await this.member(corrected, { account, field: '/resume/corrected', warnings })),
              firstCommand: firstCommandOf(member),
            }
          : { ...member, requestId: this.idOf(inside(body.command_id, place)) };
      members.push({ ...(await this.unlike(again, member.documentSha256)), ...here });
    }
    return {
      ...this.groupOf(body, { account, kind: 'resumption', members }),
      after: [],
      resumes: { groupId: old.groupId, commandId: old.commandId },
      firstCommand: firstCommandOf(old),
      ...defined({ warnings: warnings.list }),
      ...waiverOf(body),
    };
  }

  /** The id of the group, or document, that a command of this id asked for. */
  idOf(commandId: string): string {
    return requestIdOf(this.options.installationId, commandId);
  }

  /**
   * The registry refuses content that it had before (public-facts 2). So a document that is resent
   * without a correction gets other bytes: its session_ui is its new request_id, which follows from the command, and a
   * repeat of the command after a crash makes the same bytes. One that this would make too long is sent unchanged.
   */
  private async unlike(registration: Registration, earlierSha256: Sha256 | undefined): Promise<Registration> {
    const { documentSha256, requestId } = registration;
    if (documentSha256 !== earlierSha256) return registration;
    const { evidence, maxDocumentBytes } = this.options;
    const earlier = await evidence.get(documentSha256);
    if (earlier === undefined) throw new Error(`evidence ${documentSha256} is missing`);
    const xml = withSessionUi(earlier.bytes, requestId);
    if (xml.length > maxDocumentBytes) return registration;
    return { ...registration, documentSha256: await evidence.put(xml, 'application/xml'), byteLength: xml.length };
  }

  private async member(
    given: MemberBody,
    { account, field, warnings }: { account: string; field: string; warnings: ItemWarnings },
  ): Promise<Registration> {
    const { parts } = this.read(given, field, warnings);
    const [read] = parts;
    if (read === undefined || parts.length > 1)
      throw new PedigreeError(
        'too_many_items',
        `${field}: the document has more items than one may have, and a member of a group is not split`,
        { field },
      );
    await this.markSuspended(parts, { field: fieldOf(given, field), warnings });
    return this.registrationOf(given, { account, read });
  }

  /**
   * A mark, and no refusal: what is suspended is judged again before it is sent. Two hundred slow answers would keep
   * the command, and those behind it, for minutes.
   */
  private async markSuspended(parts: Read[], to: { field: string; warnings: ItemWarnings }): Promise<void> {
    for (const { facts } of parts.filter((one) => one.facts.items.length > 0)) {
      if (to.warnings.markedMs > MOST_MARKED_MS) return this.notMarked(to);
      const fromMs = performance.now();
      const finding = await this.options.packsSuspended?.(facts);
      to.warnings.markedMs += performance.now() - fromMs;
      if (finding !== undefined) to.warnings.addSuspended(finding, to.field);
    }
  }

  private notMarked({ field, warnings }: { field: string; warnings: ItemWarnings }): void {
    if (!warnings.isCutOff) this.options.packsNotAsked?.({ field });
    warnings.isCutOff = true;
  }

  /** The document's bytes and facts, checked. `field`: where in the command it was given. */
  private read(given: Given, field: string, warnings: ItemWarnings): { given: Uint8Array; parts: Read[] } {
    const document =
      given.xml === undefined ? warnings.readItems(given.document as DocumentJson, `${field}/document`) : undefined;
    try {
      const xml =
        document === undefined
          ? Buffer.from(given.xml as string, 'utf8')
          : buildDocument(document, this.options.schemas);
      const { maxDocumentBytes } = this.options;
      if (xml.length > maxDocumentBytes)
        throw new PedigreeError(
          'body_too_large',
          `the document has ${xml.length} bytes; at most ${maxDocumentBytes} are taken`,
        );
      const parts = this.partsOf(xml);
      if (document === undefined) for (const { facts } of parts) warnings.checkItems(facts.items, `${field}/xml`);
      return { given: xml, parts };
    } catch (error) {
      if (!(error instanceof PedigreeError)) throw error;
      throw given.xml === undefined
        ? inJsonDocument(error, field)
        : new PedigreeError(error.code, error.message, { ...error.place, field: `${field}/xml` });
    }
  }

  private partsOf(xml: Uint8Array): Read[] {
    const { schemas } = this.options;
    const whole = withinItsType(xml, schemas);
    if (whole !== undefined) {
      refuseUnsendable(whole);
      if (whole.items.length <= this.options.maxItems(whole.docType)) return [{ xml, facts: whole }];
    }
    const parts = splitDocument(xml, { maxItemsOf: (docType) => this.options.maxItems(docType), schemas }).map(
      (part) => ({
        xml: part,
        facts: checkDocument(part, schemas),
      }),
    );
    for (const { facts } of parts.slice(0, 1)) refuseUnsendable(facts);
    if (parts.length > MAX_GROUP_MEMBERS)
      throw new PedigreeError(
        'too_many_items',
        `the document would be split into ${parts.length} parts; at most ${MAX_GROUP_MEMBERS} go into one group`,
      );
    return parts;
  }

  private async registrationOf(
    body: Pick<MemberBody, 'command_id' | 'reference'>,
    { account, read }: { account: string; read: Read },
  ): Promise<Registration> {
    const { facts, xml } = read;
    return {
      requestId: this.idOf(body.command_id),
      commandId: body.command_id,
      ...defined({ reference: body.reference }),
      account,
      docType: facts.docType,
      documentSha256: await this.options.evidence.put(xml, 'application/xml'),
      byteLength: xml.length,
      itemCount: facts.items.length,
      subjectId: facts.subjectId,
      ...defined({ counterpartyId: facts.counterpartyId, docNum: facts.docNum }),
      operationDate: facts.operationDate,
      after: [],
    };
  }

  private groupOf(
    body: CommandBody,
    { account, kind, members }: { account: string; kind: GroupKind; members: Registration[] },
  ): Omit<GroupRegistration, 'after'> {
    const { command_id: commandId, reference } = body;
    return {
      groupId: this.idOf(commandId),
      commandId,
      ...defined({ reference }),
      account,
      kind,
      members,
    };
  }

  private membership(
    commandId: string,
    { kind, of }: { kind: GroupKind; of: number },
  ): (index: number) => GroupMembership {
    const groupId = this.idOf(commandId);
    return (index) => ({ groupId, index, of, kind });
  }

  private referencesOf(body: CommandBody): DocumentReference[] {
    return [...new Set(body.after)].map((commandId) => {
      if (commandId === body.command_id)
        throw new PedigreeError('invalid_command', '/after: a command cannot come after itself', {
          field: '/after',
          item: commandId,
        });
      return { commandId, requestId: this.idOf(commandId) };
    });
  }
}

const waiverOf = ({ waive_item_wait }: CommandBody): { waivesItemWait?: true } =>
  waive_item_wait === true ? { waivesItemWait: true } : {};

/** The facts of a document that its type allows; undefined for one that only lacks room. */
function withinItsType(xml: Uint8Array, schemas: SchemaSets): DocumentFacts | undefined {
  try {
    return checkDocument(xml, schemas);
  } catch (error) {
    if (error instanceof PedigreeError && error.code === 'too_many_items') return undefined;
    throw error;
  }
}

/** Where ids stand twice in one command, two documents would be one. */
function refuseTwice(commandIds: string[]): void {
  const at = commandIds.findIndex((id, i) => commandIds.indexOf(id) !== i);
  if (at < 0) return;
  throw new PedigreeError('invalid_command', `/group/members: the id ${commandIds[at]} stands twice in this command`, {
    field: '/group/members',
    item: commandIds[at] as string,
  });
}

/** Whether a corrected member is given where one is needed, and only there. */
function refuseUnfit(
  { halt, members }: HaltedGroup,
  { stopped, corrected }: { stopped: ReturnType<typeof stopperOf>; corrected: MemberBody | undefined },
): void {
  if (stopped !== undefined && corrected === undefined)
    throw badResume(
      `the group stopped at ${stopped.commandId}, which ended ${stopped.outcome}: give the corrected document`,
    );
  if (stopped !== undefined || corrected === undefined) return;
  if (halt?.member === undefined) throw badResume('no member stopped this group, so there is none to correct');
  const { commandId, index } = halt.member;
  throw badResume(
    `${commandId}, which stopped the group, ended ${members[index]?.outcome} after all: there is none to correct`,
  );
}

const nothingLeft = ({ commandId }: GroupRegistration): PedigreeError =>
  new PedigreeError('group_not_resumable', `/resume/group: every document of group ${commandId} was processed`, {
    field: '/resume/group',
    item: commandId,
  });

const badResume = (why: string): PedigreeError =>
  new PedigreeError('invalid_command', `/resume/corrected: ${why}`, { field: '/resume/corrected' });

/** The ERP never saw the XML that was built from its JSON, so no line of that is named. */
function inJsonDocument({ code, message, place }: PedigreeError, prefix: string): PedigreeError {
  const { line: _, field, ...rest } = place;
  if (field?.startsWith('/') === true)
    return new PedigreeError(code, `${prefix}/document${message}`, { ...rest, field: `${prefix}/document${field}` });
  return new PedigreeError(code, `${prefix}/document: ${message.replace(/^line \d+[:,] /, '')}`, {
    ...rest,
    field: `${prefix}/document`,
  });
}

/** Notifications are made by the registry alone. */
function refuseUnsendable({ docType, element }: DocumentFacts): void {
  if (documentTypeOf(docType)?.direction !== 'notification') return;
  const message = `document type ${docType} (${element}) is a notification, which only the registry makes`;
  throw new PedigreeError('unknown_document_type', message, { element });
}
