import type { JsonObject } from '#kernel';
import { Entity } from '../entity.js';
import { column, Table } from '../table.js';

/** `key`: what happened to an API key, and what was refused. `override`: a person decided against what was to come. */
export const ACCESS_KINDS = ['key', 'evidence', 'export', 'upload', 'override', 'configuration'] as const;
export type AccessKind = (typeof ACCESS_KINDS)[number];

/** One thing that somebody did, was given or was refused. It never changes. */
@Entity('access_entry')
export class AccessRow {
  @column('bigint', { primary: true }) position!: bigint;
  @column('text', { update: false }) stream!: string;
  @column('integer', { update: false }) version!: number;
  @column('text', { update: false }) type!: string;
  @column('text', { update: false }) kind!: AccessKind;
  @column('timestamptz', { update: false }) at!: Date;
  /** As readers show it (decision 53). */
  @column('text', { update: false }) actorKind!: 'person' | 'system' | 'registry';
  @column('text', { update: false }) actorName!: string;
  @column('text', { update: false }) authenticatedBy!: string;
  @column('text', { nullable: true, update: false }) reason!: string | null;
  /** Whatever it was done to, by the names under which one asks for it. */
  @column('jsonb', { update: false }) objects!: string[];
  @column('jsonb', { update: false }) details!: JsonObject;
}

export const ACCESS_ENTRY = new Table(AccessRow);
