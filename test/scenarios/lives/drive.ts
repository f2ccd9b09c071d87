import type { ContainerContent, PackChecks, PackState, PackSummary } from '#read-models';
import { checkDigitOf } from '#kernel';
import * as doc from '../../../apps/sandbox/test/documents.js';
import { until } from '../../support/until.js';
import type { Stack } from '../stack.js';
import { camelCase, type Snake } from '../../../apps/gateway/src/api/snake-case.js';
import { actOf, type Act } from './deeds.js';
import type { Plan, Round } from './plan.js';
import { documentsSince, worldOf, type DocumentTruth, type World } from './truth.js';

const { warehouse: HERE, supplier: SUPPLIER } = doc.PLACES;
const BOXES = 24;
const MINUTE_MS = 60_000;

/** What the product says of a pack, and up to which log position. */
type Said = PackState & { knownAt?: string };

/** What the registry had at a moment of its clock, and how far the log of the product had come. */
export interface Moment {
  at: string;
  position: string;
  world: World;
  /** What the product said then of each pack by itself, and of all together. */
  said: Map<string, Said | undefined>;
  together: Map<string, PackSummary>;
  /** Of each container. */
  contents: Map<string, ContainerContent | undefined>;
  /** Whether all that had happened was known to the product. */
  isAtRest: boolean;
  /** Packs of which a suspension had ended. */
  freed: ReadonlySet<string>;
}

interface Document {
  requestId: string;
  phase: string;
}

/** One plan in one stack, with packs and containers of its own. */
export class Lives {
  readonly moments: Moment[] = [];
  readonly packs: string[];
  private readonly boxes: string[];
  private boxesUsed = 0;
  /** What was done, one line a step, to read when something differs. */
  readonly done: string[] = [];
  private freed: ReadonlySet<string> = new Set();
  private commands: string[] = [];
  private readonly requests = new Set<string>();
  private operations: { documentId: string; docType: number }[] = [];
  private seen = 0;

  constructor(
    private readonly stack: Stack,
    /** Distinguishes its packs, containers and commands from those of other runs: 0 to 999. */
    private readonly run: number,
    private readonly size: { own: number; marked: number; suppliers: number },
  ) {
    const serial = (kind: string, n: number): string => `${doc.GTIN}${kind}${run}N${n}`.padEnd(27, 'X');
    this.packs = [
      ...Array.from({ length: size.own }, (_, n) => serial('OWN', n)),
      ...Array.from({ length: size.suppliers }, (_, n) => serial('SUP', n)),
    ];
    this.boxes = Array.from({ length: BOXES }, (_, n) => {
      const digits = `1460700${String(run).padStart(4, '0')}${String(n).padStart(6, '0')}`;
      return `${digits}${checkDigitOf(digits)}`;
    });
  }

  async live(plan: Plan): Promise<void> {
    this.seen = (await documentsSince(this.control, 0)).length;
    await this.begin();
    for (const round of plan) {
      await this.runRound(round);
      await this.note({ isAtRest: true });
    }
  }

  private readonly control = <T>(path: string, body?: object): Promise<T> => this.stack.control<T>(path, body);

  /**
   * Our packs come to be by documents of ours, and the last are not in circulation yet. The supplier's have been there,
   * and nobody told us.
   */
  private async begin(): Promise<void> {
    const { own: all, marked } = this.size;
    const [own, suppliers] = [this.packs.slice(0, all), this.packs.slice(all)];
    await this.control('/plant', {
      packs: suppliers.map((sgtin) => ({ sgtin, owner: 'supplier-a', place: SUPPLIER, series: 'S1' })),
    });
    await this.give(doc.endPacking(own, HERE));
    await this.give(doc.emission(own.slice(0, all - marked), HERE));
    await this.rest();
    await this.note({ isAtRest: true });
  }

  private async runRound({ steps, isLate }: Round): Promise<void> {
    const world = await this.world();
    if (isLate) await this.withholdLists();
    for (const step of steps) {
      const chosen = actOf({ step, world, newBox: () => this.newBox(), operations: this.operations });
      if (chosen === undefined) continue;
      this.done.push(`${this.moments.length}${isLate ? ' late' : ''} ${chosen.deed}: ${namesIn(chosen.act)}`);
      await this.perform(chosen.act);
    }
    if (isLate) {
      await this.oursEnd();
      await this.registryEnds();
      await this.stack.caughtUp();
      await this.note({ isAtRest: false });
      await fetch(`${this.stack.sandbox.controlUrl}/faults`, { method: 'DELETE' });
    }
    await this.rest();
  }

  /** What others do is then told after what we do. */
  private async withholdLists(): Promise<void> {
    const fault = { fault: 'answer_500_before_work', method: 'list_incoming', times: 1_000_000 };
    await this.control('/faults', fault);
  }

  /** An SSCC that nobody has used; when all are used up, one that the registry refuses. */
  private newBox(): string {
    this.boxesUsed = Math.min(this.boxesUsed + 1, BOXES);
    return this.boxes[this.boxesUsed - 1] as string;
  }

  private async perform(act: Act): Promise<void> {
    if (act.by === 'own') return this.give(act.xml);
    if (act.by === 'the regulator') {
      await this.control('/suspensions', { sgtins: act.sgtins, halt_type: act.haltType });
      if (act.haltType === 'cancel') this.freed = new Set([...this.freed, ...act.sgtins]);
    } else if (act.by === 'the cabinet') {
      await this.control('/outside', { via: 'cabinet', xml: act.xml });
    } else {
      await this.control('/counterparties/act', { from: act.by, xml: act.xml });
    }
  }

  private async give(xml: string): Promise<void> {
    const id = `lives-${this.run}-${this.requests.size}`;
    const command = { command_id: id, account: 'main', xml };
    const taken = await this.stack.client.command(JSON.stringify(command));
    this.requests.add(taken.request_id);
    this.commands.push(id);
  }

  /** Until everything has ended, and the product has seen it all. */
  private async rest(): Promise<void> {
    await this.oursEnd();
    const told = await this.registryEnds();
    const others = told.filter((one) => one.receiver === 'own' || this.isAdopted(one));
    for (const { document_id: id } of others)
      await until(`${id} is known`, async () => (await this.inboundPhase(id)) === 'concluded');
    await this.contentsTold();
    await this.stack.caughtUp();
    this.operations = told
      .filter((one) => this.requests.has(one.request_id) && one.receiver === null && one.result === 'Accepted')
      .map((one) => ({ documentId: one.document_id, docType: one.doc_type }));
  }

  /** What is held by the gate, or after a failed document, is let go. */
  private async oursEnd(): Promise<void> {
    await until('our documents end', async () => {
      for (const id of [...this.commands]) {
        const { document } = await this.stack.client.get<{ document: Document | null }>(`/v1/commands/${id}`);
        if (document?.phase === 'held')
          await this.stack.client.change('POST', `/v1/documents/${document.requestId}/release`, { reason: 'a test' });
        if (document?.phase === 'concluded') this.commands.splice(this.commands.indexOf(id), 1);
      }
      return this.commands.length === 0;
    });
  }

  private isAdopted({ sender, receiver, request_id: id }: DocumentTruth): boolean {
    return sender === 'own' && receiver === null && !this.requests.has(id);
  }

  private async inboundPhase(id: string): Promise<string | undefined> {
    try {
      return (await this.stack.client.get<{ phase: string }>(`/v1/inbound/${id}`)).phase;
    } catch {
      return undefined;
    }
  }

  private async registryEnds(): Promise<DocumentTruth[]> {
    let told: DocumentTruth[] = [];
    await until('the registry has done all', async () => {
      told = await documentsSince(this.control, this.seen);
      return told.every((one) => one.processed_at !== null);
    });
    return told;
  }

  /** A container that is on its way to us, or with us, has its content told. */
  private async contentsTold(): Promise<void> {
    const { boxes, inside } = await this.world();
    const concernsUs = (owner: string, to: string | undefined): boolean => owner === 'own' || to === HERE;
    for (const box of boxes) {
      const [pack] = inside(box);
      if (pack === undefined || !concernsUs(pack.owner, pack.transfer?.to)) continue;
      await until(`the content of ${box.id} is told`, async () => (await this.contentOf(box.id))?.isKnown === true);
    }
  }

  private readonly world = (): Promise<World> => worldOf(this.control, this.packs, this.boxes.slice(0, this.boxesUsed));

  /** A moment between documents: a minute of the registry's clock on both sides of it. */
  private async note({ isAtRest }: { isAtRest: boolean }): Promise<void> {
    await this.control('/clock', { advanceMs: MINUTE_MS });
    const { virtual } = await this.control<{ virtual: string }>('/clock');
    const { rows } = await this.stack.db.pool.query<{ at: string }>('SELECT max(position)::text AS at FROM event');
    const said = new Map<string, Said | undefined>();
    for (const pack of this.packs) said.set(pack, await this.stateOf(pack));
    const world = await this.world();
    const contents = new Map<string, ContainerContent | undefined>();
    for (const { id } of world.boxes) contents.set(id, await this.contentOf(id));
    this.moments.push({
      ...{ at: virtual, position: rows[0]?.at ?? '0', world, isAtRest, freed: this.freed },
      ...{ said, contents, together: await this.together() },
    });
    await this.control('/clock', { advanceMs: MINUTE_MS });
  }

  /** What the product says of a pack; undefined when it knows none. */
  readonly stateOf = (pack: string, query = ''): Promise<Said | undefined> => this.known(`/v1/packs/${pack}${query}`);

  /** What the product says is in a container; undefined when it knows none. */
  readonly contentOf = (box: string, query = ''): Promise<ContainerContent | undefined> =>
    this.known(`/v1/containers/${box}/content${query}`);

  private async known<T>(path: string): Promise<T | undefined> {
    try {
      return await this.stack.client.get<T>(path);
    } catch (error) {
      if ((error as { code?: string }).code === 'not_found') return undefined;
      throw error;
    }
  }

  private async together(): Promise<Map<string, PackSummary>> {
    const asked = { codes: this.packs, purpose: 'pick', place: HERE };
    const { items } = camelCase<PackChecks>(
      (await this.stack.client.change('POST', '/v1/packs/checks', asked)) as Snake<PackChecks>,
    );
    return new Map(items.flatMap(({ pack }) => (pack === undefined ? [] : [[pack.sgtin, pack]])));
  }
}

/** The packs and containers that an act names. */
const namesIn = (act: Act): string =>
  act.by === 'the regulator'
    ? act.sgtins.join(' ')
    : [...act.xml.matchAll(/<(?:sgtin|sscc|operation_id)>([^<]+)</g)].map(([, id]) => id).join(' ');
