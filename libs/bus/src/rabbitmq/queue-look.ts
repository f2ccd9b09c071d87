import type { Link } from './link.js';

const LOOK_MS = 3_000;

/**
 * How many messages stand ready in each queue. Rejects when the broker does not answer within 3 s, or one of the queues
 * is not there.
 */
export async function readyMessages(link: Link, queues: string[]): Promise<number[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the broker does not answer')), LOOK_MS);
  });
  try {
    return await Promise.race([look(link, queues), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** On a channel of its own: a queue that is not there costs the channel. */
async function look(link: Link, queues: string[]): Promise<number[]> {
  const channel = await link.channel();
  try {
    const counts: number[] = [];
    for (const queue of queues) counts.push((await channel.queueDeclare({ queue, passive: true })).messageCount);
    return counts;
  } catch (error) {
    link.forgetTopology();
    throw error;
  } finally {
    await channel.close();
  }
}
