import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { ServerResponse } from 'node:http';
import { TestClient } from '../../test/client.js';

let client: TestClient;
beforeAll(async () => {
  client = await TestClient.start();
});
afterAll(() => client.stop());

it.each([
  ['registry', () => `${client.sandbox.url}/api/v1/nowhere`],
  ['control', () => `${client.sandbox.controlUrl}/health`],
])('an answer of the %s port that cannot be written ends its connection and nothing else', async (_, url) => {
  const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const written = jest.spyOn(ServerResponse.prototype, 'writeHead').mockImplementationOnce(() => {
    throw new Error('no head');
  });
  try {
    await expect(client.http(url())).rejects.toThrow();
    expect(said).toHaveBeenCalledWith(expect.stringContaining('sandbox: Error: no head'));
    expect([200, 404]).toContain((await client.http(url())).status);
  } finally {
    written.mockRestore();
    said.mockRestore();
  }
});
