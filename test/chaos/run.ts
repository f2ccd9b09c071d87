import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCampaign } from './campaign.js';
import { campaignOptions, type CampaignOptions } from './options.js';
import { reportText, type Report } from './report.js';

export interface ChaosOptions {
  seed: number;
  minutes: number;
  kills?: number;
  serviceFaults?: number;
  documents?: number;
  restSeconds?: number;
  json?: boolean;
  keep?: boolean;
  /** Where programs are looked for (PATH). */
  path: string;
  /** EVENTSTORE_URL: the log lies there, and nothing else yet. */
  eventStoreUrl: string | undefined;
}

/** Runs one campaign, prints its report, and with `json` one JSON object as the last line. Returns the exit status. */
export async function runChaos({
  json,
  keep,
  path,
  eventStoreUrl,
  restSeconds,
  ...asked
}: ChaosOptions): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-chaos-'));
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  say(`a campaign of seed ${asked.seed}, in ${folder}`);
  let report: Report | undefined;
  try {
    const rest = restSeconds === undefined ? {} : { restLimitMs: restSeconds * 1_000 };
    report = await runCampaign(
      campaignOptions({ ...(asked as Partial<CampaignOptions> & { seed: number; minutes: number }), ...rest }),
      { folder, path, eventStoreUrl, say },
    );
  } finally {
    if (keep === true || report?.good !== true) say(`everything it wrote is kept in ${folder}`);
    else rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  process.stdout.write(`${reportText(report)}\n`);
  if (json === true) process.stdout.write(`${JSON.stringify(report)}\n`);
  return report.good ? 0 : 1;
}
