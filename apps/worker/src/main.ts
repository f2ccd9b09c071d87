import { runProgramLine } from '#service';
import { workerLine } from './program.js';

process.exit(await runProgramLine(workerLine, { args: process.argv.slice(2), env: process.env }));
