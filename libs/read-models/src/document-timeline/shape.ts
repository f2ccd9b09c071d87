import { z } from 'zod';
import { instant, position, sha256, whole } from '../shapes.js';

/** A life, line by line, straight from the log. */
export const timeline = z.array(
  z.strictObject({
    position,
    version: whole,
    type: z.string(),
    at: instant,
    actor: z.string(),
    sentence: z.string(),
    data: z.record(z.string(), z.unknown()),
    evidence: z.array(sha256).describe('Fetch them at /v1/evidence/{sha256}.'),
  }),
);
