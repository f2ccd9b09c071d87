import { runProgram } from '#service';
import { reconcilerConfig } from './config.js';
import { reconcilerProgram } from './program.js';

process.exit(await runProgram(() => reconcilerProgram(reconcilerConfig(process.env))));
