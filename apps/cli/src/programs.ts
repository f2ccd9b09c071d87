import type { ProgramLine } from '#service';

/**
 * A long-running program that `pedigree NAME` starts by itself, on services that others run. Its code is loaded when it
 * is asked for.
 */
interface ProgramEntry {
  does: string;
  line(): Promise<ProgramLine>;
  /** Its configuration, without secrets; rejects with PedigreeError that names the variables at fault. */
  describe(env: NodeJS.ProcessEnv): Promise<object>;
}

/** One entry per program: its command, its help and `pedigree config NAME` follow from it. */
export const PROGRAMS: Record<string, ProgramEntry> = {
  gateway: {
    does: 'run the HTTP API and the intake, until a signal',
    line: async () => (await import('../../gateway/src/program.js')).gatewayLine,
    describe: async (env) => {
      const { describeGatewayConfig, gatewayConfig } = await import('../../gateway/src/config.js');
      return describeGatewayConfig(gatewayConfig(env));
    },
  },
  worker: {
    does: 'run sagas, projections and the calls to the registry, until a signal; any number of them',
    line: async () => (await import('../../worker/src/program.js')).workerLine,
    describe: async (env) => {
      const { describeWorkerConfig, workerConfig } = await import('../../worker/src/config.js');
      return describeWorkerConfig(workerConfig(env));
    },
  },
  reconciler: {
    does: 'compare what we hold with what the registry shows, daily and on request, until a signal',
    line: async () => (await import('../../reconciler/src/program.js')).reconcilerLine,
    describe: async (env) => {
      const { describeReconcilerConfig, reconcilerConfig } = await import('../../reconciler/src/config.js');
      return describeReconcilerConfig(reconcilerConfig(env));
    },
  },
  auditor: {
    does: 'seal every event into the Merkle log and sign checkpoints, until a signal',
    line: async () => (await import('../../auditor/src/program.js')).auditorLine,
    describe: async (env) => {
      const { auditorConfig, describeAuditorConfig } = await import('../../auditor/src/config.js');
      return describeAuditorConfig(auditorConfig(env));
    },
  },
  witness: {
    does: "cosign the checkpoints of others' logs as long as they only grow, until a signal; needs no database",
    line: async () => (await import('../../witness/src/program.js')).witnessLine,
    describe: async (env) => {
      const { describeWitnessConfig, witnessConfig } = await import('../../witness/src/config.js');
      return describeWitnessConfig(witnessConfig(env));
    },
  },
};
