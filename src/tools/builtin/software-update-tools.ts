import { defineTool, INTEGER, p, resultSchema, TEXT } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { snakeJson } from '../schema/plain-json.ts';
import { type AdminPorts, actsOnNode, deviceOf, deviceParameter, READS_WHOLE_HUB } from './hub-tool.ts';

/** Thread is slow, and a device may wait before it begins. */
const UPDATE_TIMEOUT_MS = 2 * 3_600_000;
const version = resultSchema({
  number: { ...INTEGER, description: 'Greater is newer' },
  text: { ...TEXT, description: 'As the manufacturer writes it' },
});
const offer = resultSchema({ device: TEXT, name: TEXT, from: version, to: version, file: TEXT, size_bytes: INTEGER, notes_url: TEXT }, [
  'notes_url',
]);

/** Tools for the software of devices, from image files of the owner. */
export function updateTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [listTool(ports), updateTool(ports)];
}

function listTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'list_updates',
      title: 'Software updates',
      description:
        "Tells which devices have newer software among the image files in the hub's folder of updates, and why other files fit no device. " +
        'Nothing is looked up on the internet; notes_url is what the image says, not checked.',
      tags: ['matter', 'ota', 'firmware', 'update', 'version'],
      timeoutMs: 60_000,
      parameters: {},
      returns: resultSchema({
        folder: { ...TEXT, description: 'Where the owner puts *.ota files' },
        offers: { type: 'array', items: offer },
        unfit: { type: 'array', items: resultSchema({ file: TEXT, reason: TEXT }) },
      }),
    },
    async () => snakeJson(await administration.updates()),
  );
}

function updateTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...actsOnNode(ports),
      name: 'update_device',
      title: 'Update a device',
      description:
        'Installs newer software on a device, and everything that is part of the same node, from an image file of list_updates: the newest that ' +
        'fits, or `file`. The device restarts; it cannot go back. Takes minutes, over Thread much longer: call it as a job. Success means ' +
        'that the device itself tells the new version.',
      tags: ['matter', 'ota', 'firmware', 'update'],
      isDangerous: true,
      isAsyncAllowed: true,
      timeoutMs: UPDATE_TIMEOUT_MS,
      parameters: {
        device_id: deviceParameter,
        file: p.string({ description: 'Name of an image in the folder', minLength: 5, maxLength: 254 }).optional(),
      },
      returns: resultSchema({ device: TEXT, file: TEXT, from: version, to: version }),
    },
    async ({ file, ...params }, { signal, progress }) => {
      const result = await ports.administration.update(deviceOf(params), {
        ...(file !== undefined && { file }),
        signal,
        onProgress: ({ step, fraction, note }) => progress(fraction, `${step}: ${note}`),
      });
      return snakeJson(result);
    },
  );
}
