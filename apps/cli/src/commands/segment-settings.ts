import { join } from 'node:path';
import type { SegmentSettings } from '#segments';
import { reconcilerConfig } from '../../../reconciler/src/config.js';
import { ownEnvironment, type CliConfig } from '../config.js';

/** Where derived files lie, and what making them may take, as the reconciler has it; else in the folder of `up`. */
export function segmentSettings({ dataDir }: CliConfig): SegmentSettings {
  const { SEGMENTS_DIR = join(dataDir, 'segments'), ...environment } = ownEnvironment();
  const { segments } = reconcilerConfig({ ...environment, SEGMENTS_DIR, DATABASE_URL: 'postgres://given' });
  return segments as SegmentSettings;
}
