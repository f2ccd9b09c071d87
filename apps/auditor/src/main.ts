import { runProgramLine } from '#service';
import { auditorLine } from './program.js';

process.exit(await runProgramLine(auditorLine, { args: process.argv.slice(2), env: process.env }));
