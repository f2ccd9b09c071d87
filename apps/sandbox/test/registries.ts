import type { HttpAnswer, TestClient } from './client.js';

/** A list of a registry: POST with { filter, start_from, count }. */
export async function list(
  client: TestClient,
  path: string,
  ...[filter = {}, page = {}]: Record<string, unknown>[]
): Promise<HttpAnswer> {
  return client.post(path, { filter, ...page }, await client.headers());
}

export const remove = async (client: TestClient, path: string): Promise<HttpAnswer> =>
  client.http(`${client.sandbox.url}/api/v1${path}`, { method: 'DELETE', headers: await client.headers() });

/** Packs of the sample participant, in circulation at the warehouse. */
export const plant = (client: TestClient, order: Record<string, unknown>): Promise<HttpAnswer> =>
  client.control('POST', '/plant', { ranges: [{ owner: 'own', place: '00000000100101', ...order }] });
