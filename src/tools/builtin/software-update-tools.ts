import { defineTool, p } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { snakeJson } from '../schema/plain-json.ts';
import { type AdminPorts, deviceOf, deviceParameter, FOR_HUB, forNode, HUB_ACTS, HUB_READS } from './hub-tool.ts';

/** Thread is slow, and a device may wait before it begins. */
const UPDATE_TIMEOUT_MS = 2 * 3_600_000;
const text = { type: 'string' } as const;
const version = {
  type: 'object',
  required: ['number', 'text'],
  properties: {
    number: { type: 'integer', description: 'Greater is newer' },
    text: { ...text, description: 'As the manufacturer writes it' },
  },
} as const;

/** Tools for the software of devices, from image files of the owner. */
export function updateTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [listTool(ports), updateTool(ports)];
}

function listTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...FOR_HUB,
      name: 'list_updates',
      title: 'Software updates',
      description:
        "Tells which devices have newer software among the image files in the hub's folder of updates, and why other files fit no device. " +
        'Nothing is looked up on the internet; notes_url is what the image says, not checked.',
      tags: ['matter', 'ota', 'firmware', 'update', 'version'],
      timeoutMs: 60_000,
      parameters: {},
      returns: {
        type: 'object',
        required: ['folder', 'offers', 'unfit'],
        properties: {
          folder: { ...text, description: 'Where the owner puts *.ota files' },
          offers: {
            type: 'array',
            items: {
              type: 'object',
              required: ['device', 'name', 'from', 'to', 'file', 'size_bytes'],
              properties: {
                device: text,
                name: text,
                from: version,
                to: version,
                file: text,
                size_bytes: { type: 'integer' },
                notes_url: text,
              },
            },
          },
          unfit: { type: 'array', items: { type: 'object', required: ['file', 'reason'], properties: { file: text, reason: text } } },
        },
      },
    },
    async () => snakeJson(await administration.updates()),
  );
}

function updateTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...forNode(ports),
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
      returns: {
        type: 'object',
        required: ['device', 'file', 'from', 'to'],
        properties: { device: text, file: text, from: version, to: version },
      },
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
