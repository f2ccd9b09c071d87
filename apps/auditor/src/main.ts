import { runProgram } from '#service';
import { auditorConfig } from './config.js';
import { auditorProgram } from './program.js';

process.exit(await runProgram(() => auditorProgram(auditorConfig(process.env))));
