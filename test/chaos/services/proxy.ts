import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../../../apps/cli/src/config.js';
import { quietPort } from './ports.js';
import type { ProxyAnswer, ProxyMode, ProxyOrder } from './proxy-program.js';

/** A TCP proxy that faults can be ordered from (proxy-program.ts). */
export class TcpProxy {
  private orders = 0;
  private readonly open = new Map<number, { resolve(cut: number): void; reject(error: Error): void }>();
  /** Connections that its faults have cut. */
  cut = 0;

  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
  ) {
    child.on('message', (answer: ProxyAnswer) => {
      const order = this.open.get(answer.id);
      this.open.delete(answer.id);
      if (answer.error === undefined) order?.resolve(answer.cut);
      else order?.reject(new Error(`the proxy on port ${port}: ${answer.error}`));
    });
    child.once('exit', () => {
      for (const order of this.open.values()) order.reject(new Error(`the proxy on port ${port} is gone`));
    });
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const port = await quietPort();
    const child = fork(fileURLToPath(builtFile('test/chaos/services/proxy-program.js')), [String(port)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const proxy = new TcpProxy(port, child);
    await proxy.order({ targetPort, mode: 'pass' });
    return proxy;
  }

  get pid(): number {
    return this.child.pid as number;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async order(order: { mode?: ProxyMode; targetPort?: number }): Promise<void> {
    this.orders += 1;
    const id = this.orders;
    this.cut += await new Promise<number>((resolve, reject) => {
      this.open.set(id, { resolve, reject });
      this.child.send({ id, ...order } satisfies ProxyOrder);
    });
  }

  stop(): void {
    this.child.disconnect();
  }
}
