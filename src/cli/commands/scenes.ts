import { type Json, type JsonObject, objectOf } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { Block } from '../terminal/blocks.ts';
import { textTable } from '../terminal/text-table.ts';
import { requestCommand, toolCommand } from '../tool-command.ts';

const SCENE = { name: 'SCENE', help: 'id or name, as atmo scenes lists it', param: 'scene' };

const list = requestCommand({
  name: 'scenes',
  summary: 'the scenes of the home, with their tools and devices',
  examples: ['scenes', 'scenes --json'],
  request: ({ hub }) => hub.get('/api/v1/scenes'),
  text: (answer) => textTable(['SCENE', 'ID', 'TOOL', 'DEVICES'], objectsIn(answer, 'scenes').map(sceneRow)),
});

const run = requestCommand({
  name: 'scene run',
  summary: 'run a scene, and tell for each device what became of it',
  examples: ["scene run 'Good night'"],
  operands: [SCENE],
  request: ({ hub, output, operands: [scene = ''] }) => output.during(`Running ${scene}`, () => hub.call('core:run_scene', { scene })),
  text: (answer) => membersText(objectOf(answer)) ?? '',
});

const save = toolCommand({
  name: 'scene save',
  summary: 'save what an area or devices are now as a scene',
  examples: ["scene save 'Good night' --area house", 'scene save Reading desk-lamp blind'],
  tool: 'core:save_scene',
  operands: [
    { name: 'NAME', help: 'name for people', param: 'name' },
    { name: 'DEVICE', help: 'device id or unique name', isOptional: true, isRepeated: true },
  ],
  options: {
    area: { value: 'AREA', help: 'area or floor whose lights, covers, climate and media are taken; house for all', param: 'area' },
  },
  params: (call) => devicesAfter(call),
  sentence: savedText,
});

const rename = toolCommand({
  name: 'scene rename',
  summary: 'give a scene another name; its tool keeps its name',
  examples: ["scene rename good_night 'Sleep well'"],
  tool: 'core:change_scene',
  operands: [SCENE, { name: 'NAME', help: 'the new name', param: 'name' }],
  sentence: ({ scene, name }) => `The scene ${String(scene)} is called ${String(name)} now`,
});

const update = toolCommand({
  name: 'scene update',
  summary: 'let a scene hold what an area or devices are now',
  examples: ['scene update good_night --area house'],
  tool: 'core:change_scene',
  operands: [SCENE, { name: 'DEVICE', help: 'device id or unique name', isOptional: true, isRepeated: true }],
  options: { area: { value: 'AREA', help: 'area or floor; house for all', param: 'area' } },
  params: (call) => devicesAfter(call),
  sentence: savedText,
});

const remove = toolCommand({
  name: 'scene delete',
  summary: 'delete a scene and its tool; the devices stay as they are',
  examples: ['scene delete good_night'],
  tool: 'core:delete_scene',
  operands: [SCENE],
  sentence: ({ name }) => `The scene ${String(name)} is gone`,
});

/** The commands about scenes. */
export const sceneCommands: readonly Command[] = [list, run, save, rename, update, remove];

/** Returns the result of a call with many devices as a sentence and a table; undefined for any other result. */
export function membersText(result: JsonObject): readonly (string | Block)[] | undefined {
  const { summary } = result;
  const members = objectsIn(result, 'members');
  if (typeof summary !== 'string' || members.length === 0 || members.some(({ outcome }) => outcome === undefined)) return undefined;
  const rows = members.map(({ name, device_id: id, outcome, reason }) => [name, id, String(outcome).replaceAll('_', ' '), reason]);
  return [`${summary.split(';', 1)[0]}\n`, textTable(['DEVICE', 'ID', 'OUTCOME', 'REASON'], rows)];
}

function devicesAfter(call: Invocation): JsonObject {
  const devices = call.operands.slice(1);
  if (devices.length === 0 && call.text('area') === undefined) throw usage('Name devices, or an area with --area');
  return devices.length > 0 ? { devices: [...devices] } : {};
}

function savedText({ name, tool, left_out: leftOut, actions }: JsonObject): string {
  const devices = new Set(actionsOf(actions).map(({ device_id: id }) => id)).size;
  const missing = Array.isArray(leftOut) && leftOut.length > 0 ? `\nNot in it: ${leftOut.join('; ')}` : '';
  return `The scene ${String(name)} holds ${devices === 1 ? '1 device' : `${devices} devices`}; its tool is ${String(tool)}${missing}`;
}

function actionsOf(actions: Json | undefined): readonly JsonObject[] {
  return objectsIn({ actions: actions ?? [] }, 'actions');
}

function sceneRow({ name, scene, tool, actions }: JsonObject): readonly unknown[] {
  return [name, scene, tool, [...new Set(actionsOf(actions).map(({ device }) => device))]];
}
