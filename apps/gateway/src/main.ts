import { runProgram } from '#service';
import { gatewayConfig } from './config.js';
import { gatewayProgram } from './program.js';

process.exit(await runProgram(() => gatewayProgram(gatewayConfig(process.env))));
