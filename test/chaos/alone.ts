import { runSpecs } from '../soak/run-specs.js';

/** Campaigns over one program alone: the specs that judge them. */
const SPECS = {
  auditor: 'test/chaos/auditor/auditor-campaign.int.spec.ts',
  reconciler: 'test/chaos/reconciler/reconciler-campaign.int.spec.ts',
};
export type Alone = keyof typeof SPECS;

/** Runs one of these campaigns as in the soak, with what it says. Returns the exit status. */
export async function runAlone({ root, of, seed }: { root: string; of: Alone; seed: number }): Promise<number> {
  const env = { PEDIGREE_TEST_SIZE: 'soak', CHAOS_SEED: String(seed), CHAOS_SEEDS: '1' };
  const { passed, failed, remarks } = await runSpecs(root, [SPECS[of]], env);
  const good = passed === 1 && failed === 0;
  for (const remark of remarks) process.stdout.write(`${remark}\n`);
  process.stdout.write(`the campaign of the ${of} alone, of seed ${seed}, is ${good ? 'good' : 'NOT GOOD'}\n`);
  return good ? 0 : 1;
}
