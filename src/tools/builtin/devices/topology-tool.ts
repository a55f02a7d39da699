import type { DeviceAdministration } from '../../../core/devices/device-administration.ts';
import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { snakeJson } from '../../schema/snake-json.ts';
import { FOR_HUB, HUB_READS } from './admin-declaration.ts';

const text = { type: 'string' } as const;
const decibels = { type: 'number', 'x-unit': 'dBm' } as const;

const RETURNS = {
  type: 'object',
  required: ['nodes', 'links'],
  properties: {
    nodes: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'name', 'kind'],
        properties: {
          id: { ...text, description: 'Device id, or thread:<EUI-64> for one that is not of this hub, such as a border router' },
          device: text,
          name: text,
          kind: { enum: ['thread', 'wifi', 'ethernet', 'unknown'] },
          role: { ...text, description: 'In its Thread network, such as Router or SleepyEndDevice' },
          network: { ...text, description: 'Name of the Thread network, or BSSID of the access point' },
          channel: { type: 'integer' },
          rssi: { ...decibels, description: 'Of Wi-Fi; below -80 is weak' },
          reachability: text,
          problem: { ...text, description: 'Why it told no more' },
        },
      },
    },
    links: {
      type: 'array',
      items: {
        type: 'object',
        required: ['from', 'to', 'is_child'],
        properties: { from: text, to: text, rssi: decibels, lqi: { type: 'integer' }, is_child: { type: 'boolean' } },
      },
    },
  },
};

/** `network_topology`: how devices reach the hub, and who hears whom over Thread. */
export function topologyTool(administration: Pick<DeviceAdministration, 'topology'>): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...FOR_HUB,
      name: 'network_topology',
      title: 'Network topology',
      description:
        'Asks every device about its network: Thread role and neighbours with signal strength, Wi-Fi access point and signal. Good for finding ' +
        'out why a device is slow or often unreachable: weak links, end devices far from a router. Takes some seconds.',
      tags: ['thread', 'wifi', 'signal', 'diagnostics', 'network'],
      isAsyncAllowed: true,
      timeoutMs: 60_000,
      parameters: {},
      returns: RETURNS,
    },
    async (_, { signal }) => snakeJson(await administration.topology({ signal })),
  );
}
