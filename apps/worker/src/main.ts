import { workerConfig } from './config.js';
import { startWorker } from './worker.js';

const worker = await startWorker(workerConfig(process.env));
const stop = () => void worker.stop().then(() => process.exit(0));
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
