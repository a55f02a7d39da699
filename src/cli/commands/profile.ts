import type { DeviceDescription } from '../../core/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import type { Command } from '../command.ts';

const profileCheck: Command = {
  name: 'profile check',
  summary: 'check profile files and explain each mistake; needs no hub',
  operands: [{ name: 'FILE', help: 'files to check; all by default', isOptional: true, isRepeated: true }],
  async run({ io, output, operands }) {
    if (!io.profileCheck) throw notHere();
    const mistakes = await io.profileCheck(operands);
    output.answer({ ok: mistakes.length === 0, mistakes }, () =>
      mistakes.length === 0
        ? 'all profiles are fine\n'
        : mistakes.map(({ file, path, message }) => `${file} ${path}: ${message}\n`).join(''),
    );
    return mistakes.length === 0 ? undefined : 2;
  },
};

const profileDraft: Command = {
  name: 'profile draft',
  summary: 'print a profile file for a device, ready to edit',
  operands: [{ name: 'DEVICE', help: 'device id or unique name' }],
  async run({ io, hub, output, operands: [id = ''] }) {
    if (!io.profileDraft) throw notHere();
    const device = await hub.get(`/api/v1/devices/${encodeURIComponent(id)}`, { describe: true });
    if (!isJsonObject(device.description))
      throw new AtmoError('NOT_FOUND', `The hub has no description of ${id} yet; try atmo device interview ${id}`);
    // The hub of the same version made it from this very type.
    const draft = await io.profileDraft(device.description as unknown as DeviceDescription);
    output.answer({ device: id, draft }, () => draft);
    return undefined;
  },
};

function notHere(): AtmoError {
  return new AtmoError('NOT_SUPPORTED', 'This atmo was built without the profile tools; use the one in the checkout (scripts/atmo)');
}

export const profileCommands: readonly Command[] = [profileCheck, profileDraft];
