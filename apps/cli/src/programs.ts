import type { Program } from '#service';

/** A long-running program that `pedigree NAME` starts by itself, on services that others run. Its code is loaded when it is asked for. */
export interface ProgramEntry {
  does: string;
  /** Reads and checks its configuration; rejects with PedigreeError that names the variable. */
  make(env: NodeJS.ProcessEnv): Promise<Program>;
  /** The same configuration, without secrets. */
  describe(env: NodeJS.ProcessEnv): Promise<object>;
}

interface Parts<Config> {
  config(env: NodeJS.ProcessEnv): Config;
  program(config: Config): Program;
  describe(config: Config): object;
}

/** One entry per program: its command, its help and `pedigree config NAME` follow from it. */
export const PROGRAMS: Record<string, ProgramEntry> = {
  gateway: entry('run the HTTP API and the intake, until a signal', async () => {
    const [{ gatewayConfig, describeGatewayConfig }, { gatewayProgram }] = await Promise.all([import('../../gateway/src/config.js'), import('../../gateway/src/program.js')]);
    return { config: gatewayConfig, program: gatewayProgram, describe: describeGatewayConfig };
  }),
  worker: entry('run sagas, projections and the calls to the registry, until a signal; any number of them', async () => {
    const [{ workerConfig, describeWorkerConfig }, { workerProgram }] = await Promise.all([import('../../worker/src/config.js'), import('../../worker/src/program.js')]);
    return { config: workerConfig, program: workerProgram, describe: describeWorkerConfig };
  }),
  reconciler: entry('compare what we hold with what the registry shows, daily and on request, until a signal', async () => {
    const [{ reconcilerConfig, describeReconcilerConfig }, { reconcilerProgram }] = await Promise.all([import('../../reconciler/src/config.js'), import('../../reconciler/src/program.js')]);
    return { config: reconcilerConfig, program: reconcilerProgram, describe: describeReconcilerConfig };
  }),
  auditor: entry('seal every event into the Merkle log and sign checkpoints, until a signal', async () => {
    const [{ auditorConfig, describeAuditorConfig }, { auditorProgram }] = await Promise.all([import('../../auditor/src/config.js'), import('../../auditor/src/program.js')]);
    return { config: auditorConfig, program: auditorProgram, describe: describeAuditorConfig };
  }),
};

function entry<Config>(does: string, load: () => Promise<Parts<Config>>): ProgramEntry {
  return {
    does,
    make: async (env) => {
      const { config, program } = await load();
      return program(config(env));
    },
    describe: async (env) => {
      const { config, describe } = await load();
      return describe(config(env));
    },
  };
}
