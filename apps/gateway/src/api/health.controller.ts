import { Controller, Get, Inject } from '@nestjs/common';
import { PedigreeError } from '#kernel';
import type { Pool } from '#postgres';
import { POOL } from './queries.js';

/** For whoever watches the process: alive, and ready to take commands. Open to all, and says nothing about the business. */
@Controller('health')
export class HealthController {
  constructor(@Inject(POOL) private readonly pool: Pool) {}

  @Get('live')
  live(): object {
    return { status: 'live' };
  }

  @Get('ready')
  async ready(): Promise<object> {
    try {
      await this.pool.query('SELECT 1');
    } catch (error) {
      throw new PedigreeError('unavailable', `PostgreSQL does not answer: ${(error as Error).message}`);
    }
    return { status: 'ready' };
  }
}
