import { expect, it } from '@jest/globals';
import { DocumentationController } from './documentation.controller.js';

it('the description is made once, whoever asks, and however often', async () => {
  const sent: unknown[] = [];
  const reply = { header: () => reply, send: (body: unknown) => void sent.push(body) };
  const controller = new DocumentationController('7a0a24a3-61d5-5a7c-9c5b-0b5a3f6d9c11');
  await Promise.all([controller.openApi(reply as never), controller.openApi(reply as never)]);
  await controller.openApi(reply as never);
  expect(JSON.parse(String(sent[0]))).toMatchObject({ openapi: '3.1.0' });
  expect(sent.map((body) => body === sent[0])).toEqual([true, true, true]);
});
