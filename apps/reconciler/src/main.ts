import { runProgramLine } from '#service';
import { reconcilerLine } from './program.js';

process.exit(await runProgramLine(reconcilerLine, { args: process.argv.slice(2), env: process.env }));
