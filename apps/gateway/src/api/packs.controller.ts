import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import type { EventStore } from '#event-store';
import { defined, PedigreeError, readItemCode, type Sgtin, type Sscc } from '#kernel';
import type { Pool } from '#postgres';
import { knownUpTo, type HistoryQuery } from '#read-models';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { EPCIS, wantsEpcis } from './epcis-answer.js';
import { CONTENT, MOVEMENTS } from './pack-columns.js';
import type {
  containerContentAnswer,
  containerHistoryAnswer,
  packHistoryAnswer,
  packStateAnswer,
} from './pack-answers.js';
import { historyParameters, parameters } from './parameters.js';
import {
  ContentOfContainer,
  EpcisOfContainer,
  EpcisOfSgtin,
  HistoryOfContainer,
  HistoryOfSgtin,
  LOG,
  POOL,
  StateOfPack,
  STORE,
} from './queries.js';
import { awaitKnown } from './record-known.js';
import { sendRows } from './send-list.js';
import { snakeCase } from './snake-case.js';

/** The life and the state of a pack, and the life and content of a container. */
@Controller('v1')
export class PacksController {
  constructor(
    @Inject(QueryBus) private readonly queries: QueryBus,
    @Inject(LOG) private readonly log: ServiceLog,
    @Inject(POOL) private readonly pool: Pool,
    @Inject(STORE) private readonly store: EventStore,
  ) {}

  @Get('packs/:sgtin')
  @Allow('operator', 'auditor')
  async pack(@Param('sgtin') text: string, @Query() query: unknown): Promise<z.infer<typeof packStateAnswer>> {
    const sgtin = itemNamed(text, 'sgtin');
    const { asked, upTo } = await this.historyQuery(query);
    const state = await this.queries.execute(new StateOfPack(sgtin, asked));
    return snakeCase({ ...found(state, 'sgtin', sgtin), ...upTo });
  }

  @Get('packs/:sgtin/history')
  @Allow('operator', 'auditor')
  async history(@Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const sgtin = itemNamed((request.params as { sgtin: string }).sgtin, 'sgtin');
    const { asked, upTo } = await this.historyQuery(request.query);
    if (wantsEpcis(request)) {
      const document = await this.queries.execute(new EpcisOfSgtin(sgtin, asked));
      return void (await reply.header('content-type', EPCIS).send(found(document, 'sgtin', sgtin)));
    }
    const life = await this.queries.execute(new HistoryOfSgtin(sgtin, asked));
    const answer: z.infer<typeof packHistoryAnswer> = snakeCase({ ...found(life, 'sgtin', sgtin), ...upTo });
    await sendRows({ request, reply, log: this.log }, answer, MOVEMENTS);
  }

  @Get('containers/:sscc/history')
  @Allow('operator', 'auditor')
  async containerHistory(@Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const sscc = itemNamed((request.params as { sscc: string }).sscc, 'sscc');
    const { asked, upTo } = await this.historyQuery(request.query);
    if (wantsEpcis(request)) {
      const document = await this.queries.execute(new EpcisOfContainer(sscc, asked));
      return void (await reply.header('content-type', EPCIS).send(found(document, 'sscc', sscc)));
    }
    const life = await this.queries.execute(new HistoryOfContainer(sscc, asked));
    const answer: z.infer<typeof containerHistoryAnswer> = snakeCase({ ...found(life, 'sscc', sscc), ...upTo });
    await sendRows({ request, reply, log: this.log }, answer, MOVEMENTS);
  }

  @Get('containers/:sscc/content')
  @Allow('operator', 'auditor')
  async content(@Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const sscc = itemNamed((request.params as { sscc: string }).sscc, 'sscc');
    const { asked, upTo } = await this.historyQuery(request.query);
    const content = await this.queries.execute(new ContentOfContainer(sscc, asked));
    const answer: z.infer<typeof containerContentAnswer> = snakeCase({ ...found(content, 'sscc', sscc), ...upTo });
    await sendRows({ request, reply, log: this.log }, answer, CONTENT);
  }

  /**
   * What is asked, and up to which position of the log the answer will be: read before it, so that it is no later.
   * @throws PedigreeError also as `awaitKnown`.
   */
  private async historyQuery(query: unknown): Promise<{ asked: HistoryQuery; upTo: { knownAt?: string } }> {
    const { as_of, known_at } = parameters(historyParameters, query);
    if (known_at !== undefined) await awaitKnown({ pool: this.pool, store: this.store }, known_at);
    const position = known_at ?? (await knownUpTo(this.pool));
    return {
      asked: defined({ asOf: as_of, knownAt: known_at }),
      upTo: position instanceof Date ? {} : { knownAt: String(position) },
    };
  }
}

function found<T>(answer: T | undefined, field: 'sgtin' | 'sscc', item: string): T {
  if (answer === undefined)
    throw new PedigreeError('not_found', `no document that we know has named ${item}`, { field, item });
  return answer;
}

const NAMES = { sgtin: 'a pack, by its SGTIN', sscc: 'a container, by its SSCC' } as const;

/** The pack or container that a person typed or scanned; the answer says which one was read. */
function itemNamed(text: string, kind: 'sgtin' | 'sscc'): Sgtin | Sscc {
  const read = readItemCode(text);
  if (read.kind === kind) return read.id;
  const why = read.kind === 'none' ? read.why : `is an ${read.kind.toUpperCase()}; this is about ${NAMES[kind]}`;
  throw new PedigreeError('invalid_identifier', `${text} ${why}`, { field: kind, item: text });
}
