import { gatewayConfig } from './config.js';
import { startGateway } from './gateway.js';

const gateway = await startGateway(gatewayConfig(process.env));
process.stdout.write(`${JSON.stringify({ url: gateway.url })}\n`);
const stop = () => void gateway.stop().then(() => process.exit(0));
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
