import { runProgram } from '#service';
import { workerConfig } from './config.js';
import { workerProgram } from './program.js';

process.exit(await runProgram(() => workerProgram(workerConfig(process.env))));
