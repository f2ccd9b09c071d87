import { SOFTWARE_VERSION } from '#event-store';
import { HttpPort, type Program, type ProgramLine } from '#service';
import { Metrics, serveMetrics } from '#telemetry';
import { gatewayConfig, gatewayVariables, type GatewayConfig } from './config.js';
import { openApiPort } from './api-port.js';
import { buildGateway, gatewayLog, gatewayDependencies, watchingOf } from './gateway.js';

const CUT_AFTER_MS = 1_000;

/** The gateway as a program of its own: `pedigree gateway`. Its API port answers before the database does. */
function gatewayProgram(config: GatewayConfig): Program {
  let port: HttpPort | undefined;
  return {
    name: 'gateway',
    log: gatewayLog(config),
    health: { port: config.healthPort, host: config.healthHost },
    dependencies: gatewayDependencies(config),
    open: async ({ health, healthPort }) => {
      // Until it is built it tells what it waits for: else no alert would.
      const told = { program: 'gateway', version: SOFTWARE_VERSION, profile: config.profile };
      serveMetrics(new Metrics({ ...told, isStartingUp: true }), healthPort, health);
      const opened = await openApiPort(config, health);
      port = opened;
      return { url: opened.url, stop: () => opened.drain(CUT_AFTER_MS) };
    },
    start: async ({ log, health, healthPort }) => {
      const watching = await watchingOf(config, log);
      const gateway = await buildGateway(config, { port: port as HttpPort, log, watching, health });
      serveMetrics(watching.metrics, healthPort, health);
      return gateway;
    },
  };
}

export const gatewayLine: ProgramLine = {
  name: 'gateway',
  version: SOFTWARE_VERSION,
  variables: gatewayVariables,
  make: (env) => gatewayProgram(gatewayConfig(env)),
};
