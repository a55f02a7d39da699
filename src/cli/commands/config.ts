import { isJsonObject } from '../../core/json.ts';
import type { Command } from '../command.ts';
import { usage } from '../command.ts';

const WRONG = 2;

const check: Command = {
  name: 'config check',
  summary: 'check the configuration file and the manifest of tools, and name the line of a mistake; needs no hub',
  examples: ['config check', 'config check new-config.yaml'],
  operands: [{ name: 'FILE', help: 'file to check; the one that the hub would read by default', isOptional: true }],
  async run({ io, output, operands: [file] }) {
    if (!io.configCheck) throw usage('This atmo was built without the configuration; use the one of the hub');
    const found = await io.configCheck(file);
    output.answer({ ok: found.problem === undefined, ...found }, () => `${found.problem ?? `${found.file}: no mistakes`}\n`);
    return found.problem === undefined ? undefined : WRONG;
  },
};

const reload: Command = {
  name: 'config reload',
  summary: 'let the hub read its configuration again; what takes a restart is told',
  examples: ['config reload'],
  async run({ hub, output }) {
    const answer = await hub.call('hub:reload_config', {});
    const keysOf = (name: string) => (isJsonObject(answer) && Array.isArray(answer[name]) ? answer[name].map(String) : []);
    const [applied, waiting] = [keysOf('applied'), keysOf('needs_restart')];
    output.answer(answer, () => [
      applied.length > 0 ? `holds from now on: ${applied.join(', ')}\n` : nothingApplied(waiting),
      ...(waiting.length > 0 ? [`after a restart: ${waiting.join(', ')} (sudo systemctl restart atmosphere-edge)\n`] : []),
    ]);
    return undefined;
  },
};

function nothingApplied(waiting: readonly string[]): string {
  return waiting.length > 0 ? 'nothing changed that holds without a restart\n' : 'the file says what it said before\n';
}

/** The configuration file of the hub. */
export const configCommands: readonly Command[] = [check, reload];
