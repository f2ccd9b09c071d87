import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { digestOfFile } from '#duckdb';
import { PedigreeError, sha256Hex } from '#kernel';
import type { GatewayClient } from '../gateway-client.js';
import { facts, out, say } from '../print.js';

export interface UploadFlags {
  moment?: string;
  json?: boolean;
}

interface Upload {
  upload_id: string;
  state: 'open' | 'finished';
  part_bytes: number;
  parts: number;
  received?: { n: number; sha256: string }[];
  file?: string;
}

/** Sends a stock file in parts, those that are not there yet, and has it given to the reconciler. */
export async function uploadStock(gateway: GatewayClient, path: string, flags: UploadFlags): Promise<number> {
  const { mtime } = await stat(path).catch(() => {
    throw new PedigreeError('invalid_parameter', `${path} cannot be read`, { file: path });
  });
  const file = { name: basename(path), ...(await digestOfFile(path)), moment: flags.moment ?? mtime.toISOString() };
  const begun = (await gateway.change('POST', '/v1/stock-uploads', file)) as Upload;
  const at = `/v1/stock-uploads/${begun.upload_id}`;
  if (begun.state === 'open') await sendParts(gateway, at, { path, begun });
  const ended = (await gateway.change('POST', `${at}/finish`, undefined, { isLong: true })) as Upload;
  if (flags.json === true) out(JSON.stringify(ended));
  else
    out(
      facts([
        ['upload', ended.upload_id],
        ['file for the reconciler', ended.file ?? ''],
        ['SHA-256', file.sha256],
      ]),
    );
  return 0;
}

async function sendParts(
  gateway: GatewayClient,
  at: string,
  { path, begun: { part_bytes, parts, received = [] } }: { path: string; begun: Upload },
): Promise<void> {
  const there = new Map(received.map(({ n, sha256 }) => [n, sha256]));
  const file = await open(path);
  try {
    for (let n = 1; n <= parts; n += 1) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(part_bytes), 0, part_bytes, (n - 1) * part_bytes);
      const bytes = buffer.subarray(0, bytesRead);
      const sha256 = sha256Hex(bytes);
      if (there.get(n) === sha256) continue;
      await gateway.put(`${at}/parts/${n}`, bytes, sha256);
      say(`part ${n} of ${parts} is sent`);
    }
  } finally {
    await file.close();
  }
}
