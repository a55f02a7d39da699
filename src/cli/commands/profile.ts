import type { DeviceDescription } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import type { HubMachineIo } from '../cli-io.ts';
import type { Command } from '../command.ts';

const profileCheck: Command<HubMachineIo> = {
  name: 'profile check',
  summary: 'check profile files and explain each mistake; needs no hub',
  examples: ['profile check', 'profile check my-lamp.json'],
  operands: [{ name: 'FILE', help: 'files to check; all by default', isOptional: true, isRepeated: true }],
  async run({ io, output, operands }) {
    const problems = await io.profileCheck(operands);
    // Imported when needed, because the module loads the schema compiler.
    const { formatProblem } = await import('../../profiles/check/profile-problem.ts');
    output.answer({ ok: problems.length === 0, problems }, () =>
      problems.length === 0 ? 'all profiles are fine' : problems.map(formatProblem).join('\n'),
    );
    return problems.length === 0 ? undefined : 2;
  },
};

const profileDraft: Command<HubMachineIo> = {
  name: 'profile draft',
  summary: 'print profile files for a device, ready to edit',
  examples: ['profile draft living-room-lamp'],
  operands: [{ name: 'DEVICE', help: 'device id or unique name' }],
  async run({ io, hub, output, operands: [id = ''] }) {
    const device = await hub.get(`/api/v1/devices/${encodeURIComponent(id)}`, { describe: true });
    if (!isJsonObject(device.description))
      throw new AtmoError('NOT_FOUND', `The hub has no description of ${id} yet; try atmo device interview ${id}`);
    // The cast is safe because a hub of the same version made the description.
    const files = await io.profileDraft(device.description as unknown as DeviceDescription);
    // The paths go to stderr, so that stdout contains only the draft.
    for (const { path } of files) io.stderr.write(`device-profiles/${path}\n`);
    output.answer({ device: id, files }, () => files.map(({ content }) => `${JSON.stringify(content, null, 2)}\n`).join('\n'));
  },
};

export const profileCommands: readonly Command<HubMachineIo>[] = [profileCheck, profileDraft];
