import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands before a registry, hands everything on, and remembers what was asked. */
export interface WatchedRegistry {
  url: string;
  /** Each verb and path that was asked, once, without its query. */
  asked: Set<string>;
  /** What the registry has said so far: a link in it may be followed. */
  said(): string;
  stop(): Promise<void>;
}

export async function watchedRegistry(target: string): Promise<WatchedRegistry> {
  const asked = new Set<string>();
  let said = '';
  const passOn = (call: IncomingMessage, answer: ServerResponse): void => {
    const path = call.url as string;
    asked.add(`${call.method} ${path.split('?')[0]}`);
    const onward = request(
      new URL(path, target),
      { method: call.method as string, headers: call.headers, agent: false },
      (given) => {
        answer.writeHead(given.statusCode as number, given.headers);
        given.on('data', (chunk: Buffer) => (said += chunk.toString()));
        given.pipe(answer);
      },
    );
    onward.on('error', () => answer.destroy());
    call.pipe(onward);
  };
  const server = createServer(passOn);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, said: () => said, stop };
}
