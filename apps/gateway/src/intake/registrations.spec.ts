import { describe, expect, it } from '@jest/globals';
import type { GroupRegistration } from '#domain';
import { requestIdOf, sha256Hex } from '#kernel';
import { arrival, SGTIN } from '../../test/test-harness.js';
import type { CommandBody } from './command-body.js';
import { Registrations, type HaltedGroup } from './registrations.js';

const INSTALLATION = '00000000-0000-4000-8000-000000000000';
const registrations = new Registrations({
  installationId: INSTALLATION,
  maxDocumentBytes: 1_000_000,
  maxItems: () => 100,
  evidence: { put: async (bytes) => sha256Hex(Buffer.from(bytes)) },
});

const given = (command_id: string, n: number) => ({
  command_id,
  reference: `of ${command_id}`,
  xml: arrival(`<sgtin>${SGTIN.slice(0, -1)}${n}</sgtin>`),
});
const command = (over: Partial<CommandBody>): CommandBody => ({
  command_id: 'day',
  type: 'send_group',
  after: [],
  ...over,
});

/** The group as it stands when its first member was rejected. */
function haltedAtFirst(registration: GroupRegistration): HaltedGroup {
  const members = registration.members.map(({ commandId, requestId }, index) => ({
    commandId,
    requestId,
    outcome: index === 0 ? 'rejected' : 'failed',
    ...(index === 0 ? {} : { cause: 'not_processed' }),
  }));
  const halt = { cause: 'member_rejected', member: { ...members[0], index: 0 } };
  return { phase: 'concluded', registration, members, outcome: 'failed', halt } as unknown as HaltedGroup;
}

const resumedBy = (command_id: string, halted: GroupRegistration, corrected: string): Promise<GroupRegistration> =>
  registrations.resumption(
    command({ command_id, type: 'resume_group', resume: { group: halted.commandId, corrected: given(corrected, 3) } }),
    'main',
    haltedAtFirst(halted),
  );

describe('a group that was resumed, and resumed again', () => {
  it('keeps the commands that the ERP gave first, and names those that each replaces', async () => {
    const first = await registrations.group(
      command({ reference: 'of day', group: { members: [given('one', 1), given('two', 2)] } }),
      'main',
    );
    const second = await resumedBy('resume-1', first, 'one-corrected');
    const third = await resumedBy('resume-2', second, 'one-corrected-again');
    const requestId = (name: string): string => requestIdOf(INSTALLATION, name);
    expect(first).not.toHaveProperty('firstCommand');
    for (const group of [second, third]) {
      expect(group).toMatchObject({
        firstCommand: { commandId: 'day', reference: 'of day' },
        members: [
          { firstCommand: { commandId: 'one', reference: 'of one' } },
          { commandId: 'two', reference: 'of two' },
        ],
      });
    }
    expect(second).toMatchObject({
      resumes: { groupId: requestId('day') },
      members: [
        { commandId: 'one-corrected', supersedes: { requestId: requestId('one') } },
        { supersedes: { requestId: requestId('two') } },
      ],
    });
    expect(third).toMatchObject({
      resumes: { groupId: requestId('resume-1') },
      members: [
        { supersedes: { requestId: requestId('one-corrected') } },
        { supersedes: { requestId: second.members[1]?.requestId } },
      ],
    });
  });
});
