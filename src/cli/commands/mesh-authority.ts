import { writeFile } from 'node:fs/promises';
import { systemCode } from '../../core/process/system-code.ts';
import { type Command, usage } from '../command.ts';
import { givenPassphrase, PASSPHRASE_OPTION, requirePassphrase } from '../identity/passphrase.ts';
import { hubIdOf } from '../mesh-facts.ts';
import { readInput } from '../terminal/text-input.ts';

const HUB = { name: 'HUB', help: 'id or unique name of the hub, as atmo mesh peers tells it' };

const revoke: Command = {
  name: 'mesh revoke',
  summary: 'end the membership of another hub, and of those that it let in, at once and for good',
  examples: ['mesh revoke shed'],
  operands: [HUB],
  options: PASSPHRASE_OPTION,
  async run(call) {
    const [hub, passphrase] = [await hubIdOf(call.hub, call.operand(0)), await givenPassphrase(call)];
    const answer = await call.hub.post(`/api/v1/mesh/peers/${hub}/revoke`, passphrase === undefined ? {} : { passphrase });
    const others = Array.isArray(answer.also_ended) ? answer.also_ended.map(String) : [];
    call.output.answer(answer, () => `${[hub, ...others].join(', ')} ${others.length > 0 ? 'are' : 'is'} no member any more\n`);
    return undefined;
  },
};

const delegate: Command = {
  name: 'mesh delegate',
  summary: 'let a hub of the mesh invite others and renew memberships, for five years',
  examples: ['mesh delegate shed'],
  operands: [HUB],
  options: PASSPHRASE_OPTION,
  async run(call) {
    const hub = await hubIdOf(call.hub, call.operand(0));
    const answer = await call.hub.post(`/api/v1/mesh/peers/${hub}/delegate`, { passphrase: await requirePassphrase(call) });
    call.output.answer(answer, () => `${hub} may let others in${answer.delivered === false ? ' as soon as it connects' : ''}\n`);
    return undefined;
  },
};

const exportRoot: Command = {
  name: 'mesh export-root',
  summary: 'write the root key of the mesh, sealed under its passphrase, to a file for a safe place',
  examples: ['mesh export-root mesh-root.key'],
  operands: [{ name: 'FILE', help: 'new file, readable by you alone; - for stdout' }],
  options: PASSPHRASE_OPTION,
  async run(call) {
    const file = call.operand(0);
    const answer = await call.hub.post('/api/v1/mesh/root/export', { passphrase: await requirePassphrase(call) });
    if (file === '-') {
      call.output.answer(answer, () => `${answer.root_key}\n`);
      return undefined;
    }
    await writeNew(file, `${answer.root_key}\n`);
    call.output.answer({ file }, () => `the sealed root key is in ${file}; without its passphrase it is worth nothing\n`);
    return undefined;
  },
};

const importRoot: Command = {
  name: 'mesh import-root',
  summary: 'bring an exported root key of the mesh to this hub',
  examples: ['mesh import-root mesh-root.key'],
  operands: [{ name: 'FILE', help: 'what atmo mesh export-root wrote; - for stdin' }],
  options: PASSPHRASE_OPTION,
  async run(call) {
    const file = call.operand(0);
    const rootKey = await readInput(file === '-' ? '-' : `@${file}`, call.io);
    const answer = await call.hub.post('/api/v1/mesh/root/import', { root_key: rootKey, passphrase: await requirePassphrase(call) });
    call.output.answer(answer, () => 'this hub has the root key now\n');
    return undefined;
  },
};

/** What the holder of the root key decides. */
export const meshAuthorityCommands: readonly Command[] = [revoke, delegate, exportRoot, importRoot];

async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const why = systemCode(error);
    throw usage(`${file} cannot be written (${why === 'EEXIST' ? 'it is there already' : why}); name a new file`);
  }
}
