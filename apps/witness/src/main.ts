import { runProgramLine } from '#service';
import { witnessLine } from './program.js';

process.exit(await runProgramLine(witnessLine, { args: process.argv.slice(2), env: process.env }));
