import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { documentTrace } from './trace-ids.js';
import { openTracing } from './watching.js';

const REQUEST_ID = '3f2504e0-4f89-51d3-9a0c-0305e82c3301';
const [FROM, TO] = [new Date('2026-01-15T09:00:00.000Z'), new Date('2026-01-15T09:00:00.250Z')];

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  links?: { traceId: string }[];
  status?: { code?: number; message?: string };
  attributes: { key: string; value: Record<string, unknown> }[];
}

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((closed) => server.close(closed));
});

/** A receiver of OTLP over HTTP, as a collector would be. */
async function receiver(): Promise<{ endpoint: string; spans: OtlpSpan[]; services: unknown[] }> {
  const spans: OtlpSpan[] = [];
  const services: unknown[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        resourceSpans: { resource: { attributes: OtlpSpan['attributes'] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
      };
      for (const one of resourceSpans) {
        services.push(one.resource.attributes.find(({ key }) => key === 'service.name')?.value['stringValue']);
        spans.push(...one.scopeSpans.flatMap((scope) => scope.spans));
      }
      response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, spans, services };
}

describe('traces', () => {
  it('reach an OTLP receiver as one trace, whichever process told a step', async () => {
    const { endpoint, spans, services } = await receiver();
    const gateway = await openTracing({ program: 'gateway', version: '1', endpoint });
    const worker = await openTracing({ program: 'worker', version: '1', endpoint });
    const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
    const done = { requestId: REQUEST_ID, startedAt: FROM, endedAt: TO };
    gateway.step({ ...done, name: 'intake', key: 'erp-1', kind: 'server', caller });
    const attributes = { attempt: 1 };
    worker.step({ ...done, name: 'send', key: 'send:1', kind: 'client', attributes, error: 'refused' });
    worker.document({ ...done, attributes: { outcome: 'accepted' } });
    await Promise.all([gateway.close(), worker.close()]);

    const root = documentTrace(REQUEST_ID);
    expect(services.sort()).toEqual(['pedigree-gateway', 'pedigree-worker']);
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([root.traceId]));
    const named = (name: string): OtlpSpan | undefined => spans.find((span) => span.name === name);
    expect(named('document')).toMatchObject({ spanId: root.spanId });
    expect(named('document')?.parentSpanId ?? '').toBe('');
    expect(named('intake')).toMatchObject({
      parentSpanId: root.spanId,
      links: [{ traceId: caller.traceId }],
      startTimeUnixNano: `${FROM.getTime()}000000`,
      endTimeUnixNano: `${TO.getTime()}000000`,
    });
    expect(named('send')).toMatchObject({ parentSpanId: root.spanId, status: { code: 2, message: 'refused' } });
    expect(named('send')?.attributes).toContainEqual({ key: 'attempt', value: { intValue: 1 } });
  });

  it('tell a step that is done twice under one span id', async () => {
    const { endpoint, spans } = await receiver();
    for (let run = 0; run < 2; run += 1) {
      const tracing = await openTracing({ program: 'worker', version: '1', endpoint });
      tracing.step({ requestId: REQUEST_ID, name: 'receipt', key: 'receipt:1', startedAt: FROM, endedAt: TO });
      await tracing.close();
    }
    expect(spans).toHaveLength(2);
    expect(new Set(spans.map((span) => span.spanId)).size).toBe(1);
  });

  it('cost nothing but spans when the receiver is away', async () => {
    const tracing = await openTracing({
      program: 'worker',
      version: '1',
      endpoint: 'http://127.0.0.1:1',
      exportWithinMs: 200,
    });
    tracing.step({ requestId: REQUEST_ID, name: 'send', key: '1', startedAt: FROM, endedAt: TO });
    await expect(tracing.close()).resolves.toBeUndefined();
  });
});
