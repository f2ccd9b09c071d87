import { runProgramLine } from '#service';
import { gatewayLine } from './program.js';

process.exit(await runProgramLine(gatewayLine, { args: process.argv.slice(2), env: process.env }));
