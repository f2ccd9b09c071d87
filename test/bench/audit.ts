import { auditorSchemas } from '../../apps/auditor/src/auditor.js';
import { PedigreeError } from '#kernel';
import { migrate, type Pool } from '#postgres';
import { evidence } from './audit/evidence.js';
import { proofs } from './audit/proofs.js';
import { sealing } from './audit/sealing.js';
import { onDatabase } from './on-database.js';
import { thisMachine, type BenchReport } from './report.js';

const WHOLE = {
  sealing: { events: 200_000, rounds: 5 },
  proofs: { leaves: 10_000_000, documents: 1_000, calls: 1_000 },
  evidence: { megabytes: 400, rounds: 5 },
};
const QUICK = {
  sealing: { events: 20_000, rounds: 3 },
  proofs: { leaves: 200_000, documents: 100, calls: 200 },
  evidence: { megabytes: 20, rounds: 3 },
};

const GOALS = {
  sealing: { goal_leaves_per_second: 60_000 },
  proofs: { goal_proof_p99_ms: 10, goal_verify_us: 100 },
  evidence: { goal_evidence_mb_per_second: 150 },
};

type Sizes = typeof WHOLE;
type Figures = Pick<BenchReport, 'figures' | 'ceilings' | 'ratios'>;

const PARTS: Record<keyof Sizes, (sizes: Sizes) => Promise<Figures>> = {
  sealing: async (sizes) => {
    const sealed = await onAuditedDatabase((pool, folder) => sealing(pool, folder, sizes.sealing));
    return {
      figures: {
        leaves_per_second: rounded(sealed.own.perSecond, 0),
        own_cpu_us_per_leaf: rounded(sealed.own.cpuUs, 1),
        server_cpu_us_per_leaf: rounded(sealed.serverUsPerLeaf, 1),
      },
      ceilings: { ...GOALS.sealing, bare_leaves_per_second: rounded(sealed.bare?.perSecond ?? 0, 0) },
      ratios: { of_bare: rounded(sealed.ofBare ?? 0, 2) },
    };
  },
  proofs: async (sizes) => {
    const proven = await onAuditedDatabase((pool) => proofs(pool, sizes.proofs));
    return {
      figures: {
        proof_leaves: sizes.proofs.leaves,
        proof_p50_ms: rounded(proven.proofP50Ms, 2),
        proof_p99_ms: rounded(proven.proofP99Ms, 2),
        proof_first_ms: rounded(proven.firstProofMs, 1),
        proof_cpu_ms: rounded(proven.proofCpuMs, 2),
        answer_proof_p99_ms: rounded(proven.answerProofP99Ms, 2),
        verify_us: rounded(proven.verifyUs, 1),
        verify_cpu_us: rounded(proven.verifyCpuUs, 1),
        verify_file_us: rounded(proven.fileVerifyUs, 1),
      },
      ceilings: {
        ...GOALS.proofs,
        bare_query_ms: rounded(proven.bareQueryMs, 3),
        bare_signature_us: rounded(proven.bareSignatureUs, 1),
      },
      ratios: { verify_file_of_signatures: rounded(proven.fileVerifyUs / (2 * proven.bareSignatureUs), 2) },
    };
  },
  evidence: async (sizes) => {
    const { megabytes, pieces, storedMb } = await onAuditedDatabase((pool) => evidence(pool, sizes.evidence));
    const storedShare = storedMb / sizes.evidence.megabytes;
    return {
      figures: {
        evidence_mb_per_second: rounded(megabytes.own.perSecond, 1),
        evidence_stored_mb_per_second: rounded(megabytes.own.perSecond * storedShare, 1),
        evidence_own_cpu_us_per_mb: rounded(megabytes.own.cpuUs, 0),
        evidence_pieces: pieces,
      },
      ceilings: { ...GOALS.evidence, bare_evidence_mb_per_second: rounded(megabytes.bare?.perSecond ?? 0, 1) },
      ratios: { of_bare_evidence: rounded(megabytes.ofBare ?? 0, 2) },
    };
  },
};

/**
 * What the auditor does, each part by itself, one caller: leaves sealed from a filled log; the proof of a document in a
 * large tree, and its verification; evidence held against its digests.
 */
export async function audit({ quick, part }: { quick: boolean; part?: string }): Promise<BenchReport> {
  const sizes = quick ? QUICK : WHOLE;
  const report: BenchReport = { bench: 'audit', figures: {}, ceilings: {}, ratios: {}, machine: thisMachine() };
  for (const name of partsOf(part)) {
    const found = await PARTS[name](sizes);
    Object.assign(report.figures, found.figures);
    Object.assign(report.ceilings, found.ceilings);
    Object.assign(report.ratios, found.ratios);
  }
  return report;
}

function partsOf(part: string | undefined): (keyof Sizes)[] {
  const all = Object.keys(PARTS) as (keyof Sizes)[];
  if (part === undefined) return all;
  const asked = all.filter((name) => name === part);
  if (asked.length > 0) return asked;
  const message = `--part: ${part} is not a part of the bench audit; there are: ${all.join(', ')}`;
  throw new PedigreeError('invalid_parameter', message, { field: '--part' });
}

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

/** Each part has a database of its own. */
const onAuditedDatabase = <T>(work: (pool: Pool, folder: string) => Promise<T>): Promise<T> =>
  onDatabase(async ({ pool, folder }) => {
    await migrate(pool, auditorSchemas);
    return work(pool, folder);
  });
