/**
 * Loaded before a program (--import): tells its parent, when asked, how much memory it holds after everything was
 * collected, and ends with it.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

if (process.send !== undefined) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  process.on('message', () => {
    collect();
    collect();
    const { rss, heapUsed } = process.memoryUsage();
    process.send({ rssMiB: Math.round(rss / 2 ** 20), heapMiB: Math.round(heapUsed / 2 ** 20) });
  });
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // The question must not keep the program alive.
  process.channel.unref();
}
