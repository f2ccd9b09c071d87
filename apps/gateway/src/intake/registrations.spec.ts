import { describe, expect, it, jest } from '@jest/globals';
import { builtInSchemas } from '#documents';
import type { GroupRegistration } from '#domain';
import { requestIdOf, sha256Hex } from '#kernel';
import { arrival, SGTIN } from '../../test/test-harness.js';
import type { CommandBody } from './command-body.js';
import type { HaltedGroup } from './halted-group.js';
import { Registrations, type RegistrationsOptions } from './registrations.js';

const INSTALLATION = '00000000-0000-4000-8000-000000000000';
const kept = new Map<string, Buffer>();
const options: RegistrationsOptions = {
  installationId: INSTALLATION,
  maxDocumentBytes: 1_000_000,
  maxItems: () => 100,
  schemas: builtInSchemas(),
  evidence: {
    put: async (bytes) => {
      const sha256 = sha256Hex(bytes);
      kept.set(sha256, Buffer.from(bytes));
      return sha256;
    },
    get: async (sha256) => {
      const bytes = kept.get(sha256);
      return bytes === undefined ? undefined : { bytes, mediaType: 'application/xml' };
    },
  },
};
const registrations = new Registrations(options);

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

/** The group as it stands when its first member was rejected; `outcome`: as what it counts now. */
function haltedAtFirst(registration: GroupRegistration, outcome = 'rejected'): HaltedGroup {
  const members = registration.members.map(({ commandId, requestId }, index) => ({
    commandId,
    requestId,
    outcome: index === 0 ? outcome : 'failed',
    ...(index === 0 ? {} : { cause: 'not_processed' }),
  }));
  const halt = { cause: 'member_rejected', member: { ...members[0], index: 0, outcome: 'rejected' } };
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

  it('sends no bytes twice: each member that goes as it was has a session_ui of its own, and the same ones after a repeat', async () => {
    const members = [given('one', 1), given('two', 2), given('three', 4)];
    const first = await registrations.group(command({ group: { members } }), 'main');
    const halted = haltedAtFirst(first);
    const resume = { group: 'day', corrected: { ...given('one-again', 1), xml: members[0]?.xml as string } };
    const body = command({ command_id: 'resume-3', type: 'resume_group', resume });
    const second = await registrations.resumption(body, 'main', halted);
    expect(second.members.map(({ documentSha256 }) => kept.get(documentSha256)?.toString())).toEqual(
      members.map(({ xml }, i) =>
        xml.replace('<documents ', `<documents session_ui="${second.members[i]?.requestId}" `),
      ),
    );
    expect(second.members.map(({ byteLength }) => byteLength)).toEqual(
      second.members.map(({ documentSha256 }) => kept.get(documentSha256)?.length),
    );
    expect(await registrations.resumption(body, 'main', halted)).toEqual(second);
  });

  it('sends a corrected member byte for byte', async () => {
    const first = await registrations.group(
      command({ group: { members: [given('one', 1), given('two', 2)] } }),
      'main',
    );
    const second = await resumedBy('resume-4', first, 'one-corrected');
    expect(kept.get(second.members[0]?.documentSha256 as string)?.toString()).toBe(given('one', 3).xml);
  });
});

describe('a group whose stopping member turned out well, after the group had concluded', () => {
  const resume = (corrected?: ReturnType<typeof given>) =>
    command({ command_id: 'rest', type: 'resume_group', resume: { group: 'day', ...(corrected && { corrected }) } });
  const halted = async (outcome: string, ...names: string[]): Promise<HaltedGroup> => {
    const members = names.map((name, n) => given(name, n));
    return haltedAtFirst(await registrations.group(command({ group: { members } }), 'main'), outcome);
  };

  it.each(['accepted', 'partial'])(
    'goes on with what was not processed, and sends what was %s no more',
    async (end) => {
      const rest = await registrations.resumption(resume(), 'main', await halted(end, 'one', 'two', 'three'));
      expect(rest.members.map((one) => one.commandId)).toEqual(['two', 'three']);
      expect(rest.members.map((one) => one.group)).toMatchObject([
        { index: 0, of: 2 },
        { index: 1, of: 2 },
      ]);
    },
  );

  it('takes no corrected document, and says why', async () => {
    const again = registrations.resumption(
      resume(given('one-again', 5)),
      'main',
      await halted('accepted', 'one', 'two'),
    );
    await expect(again).rejects.toMatchObject({
      code: 'invalid_command',
      message: '/resume/corrected: one, which stopped the group, ended accepted after all: there is none to correct',
    });
  });

  it('is not resumed where nothing is left of it', async () => {
    await expect(registrations.resumption(resume(), 'main', await halted('accepted', 'one'))).rejects.toMatchObject({
      code: 'group_not_resumable',
      place: { field: '/resume/group', item: 'day' },
    });
  });
});

it('a command whose packs take long to be looked up for suspensions is taken without all marks, which is said', async () => {
  let [asked, nowMs] = [0, 0];
  const notAsked: unknown[] = [];
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const slow = new Registrations({
    ...options,
    packsNotAsked: (from) => notAsked.push(from),
    packsSuspended: async () => {
      asked += 1;
      nowMs += 2_000;
      return undefined;
    },
  });
  try {
    const members = Array.from({ length: 9 }, (_, n) => given(`slow-${n}`, n));
    const group = await slow.group(command({ group: { members } }), 'main');
    expect([group.members.length, asked]).toEqual([9, 6]);
    expect(notAsked).toEqual([{ field: '/group/members/6/xml' }]);
  } finally {
    clock.mockRestore();
  }
});
