import { join } from 'node:path';
import { reconcilerConfig } from '../../../reconciler/src/config.js';
import type { SegmentSettings } from '../../../reconciler/src/keep-segments.js';
import { ownEnvironment, type CliConfig } from '../config.js';

/** Where derived files lie, and what making them may take, as the reconciler has it; else in the folder of `up`. */
export function segmentSettings({ dataDir }: CliConfig): SegmentSettings {
  const { SEGMENTS_DIR = join(dataDir, 'segments'), ...environment } = ownEnvironment();
  const { segments } = reconcilerConfig({ ...environment, SEGMENTS_DIR, DATABASE_URL: 'postgres://given' });
  return segments as SegmentSettings;
}
