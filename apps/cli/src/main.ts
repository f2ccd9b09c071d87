import { endWithReader } from './lost-reader.js';
import { runCommand } from './run-command.js';

endWithReader();
process.exitCode = await runCommand(process.argv);
