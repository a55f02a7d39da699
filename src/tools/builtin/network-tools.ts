import type { DeviceAdministration } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import { defineTool, INTEGER, p, resultSchema, TEXT } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { snakeJson } from '../schema/plain-json.ts';
import { ACTS_ON_HUB, type AdminPorts, DONE, READS_WHOLE_HUB, SUCCESS } from './hub-tool.ts';

const nameParameter = p.string({ description: 'Name of the credential set', minLength: 1, maxLength: 64, isGivenName: true });
const setBase = { ...ACTS_ON_HUB, isIdempotent: true, returns: DONE };

/** Returns the tools for the network credentials that new devices get. The tools store secrets and never return them. */
export function credentialTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [listCredentialsTool(ports), setWifiTool(ports), setThreadTool(ports), importThreadTool(ports), removeCredentialTool(ports)];
}

function listCredentialsTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'list_credentials',
      title: 'List network credentials',
      description: 'Lists the stored Wi-Fi and Thread credential sets by name and network, without their secrets.',
      parameters: {},
    },
    async () => snakeJson(administration.credentials()),
  );
}

function setWifiTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...setBase,
      name: 'set_wifi_credentials',
      title: 'Store Wi-Fi credentials',
      description: 'Stores a Wi-Fi network and its password for new devices.',
      parameters: {
        name: nameParameter,
        ssid: p.string({ description: 'Network name', minLength: 1, maxLength: 32 }),
        password: p.string({ description: 'Password of the network', maxLength: 64, secret: true }),
      },
    },
    async ({ name, ssid, password }) => {
      await administration.setWifi(name, ssid, password);
      return SUCCESS;
    },
  );
}

function setThreadTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...setBase,
      name: 'set_thread_credentials',
      title: 'Store Thread credentials',
      description: 'Stores a Thread operational dataset for new devices.',
      parameters: {
        name: nameParameter,
        dataset: p.string({ description: 'Active operational dataset, hex', pattern: '^([0-9A-Fa-f]{2}){1,254}$', secret: true }),
      },
    },
    async ({ name, dataset }) => {
      await administration.setThread(name, dataset);
      return SUCCESS;
    },
  );
}

function importThreadTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'import_thread_credentials',
      title: 'Import Thread credentials',
      description: 'Takes the active Thread dataset from an OpenThread Border Router.',
      isIdempotent: true,
      parameters: {
        name: nameParameter,
        router_url: p.string({
          description: "Address of the router's REST API, such as http://192.168.1.5:8081",
          format: 'uri',
          maxLength: 256,
        }),
      },
    },
    async ({ name, router_url: url }, { signal }) => snakeJson(await administration.importThread(name, url, { signal })),
  );
}

function removeCredentialTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...setBase,
      name: 'remove_credentials',
      title: 'Remove network credentials',
      description: 'Removes a stored credential set.',
      parameters: { name: nameParameter },
    },
    async ({ name }) => {
      if (!administration.removeCredentials(name)) throw new AtmoError('NOT_FOUND', `There is no credential set ${JSON.stringify(name)}`);
      return SUCCESS;
    },
  );
}

const decibels = { type: 'number', 'x-unit': 'dBm' } as const;

const NODE = resultSchema(
  {
    id: { ...TEXT, description: 'Device id, or thread:<EUI-64> for one that is not of this hub, such as a border router' },
    device: TEXT,
    name: TEXT,
    kind: { enum: ['thread', 'wifi', 'ethernet', 'unknown'] },
    role: { ...TEXT, description: 'In its Thread network, such as Router or SleepyEndDevice' },
    network: { ...TEXT, description: 'Name of the Thread network, or BSSID of the access point' },
    channel: INTEGER,
    rssi: { ...decibels, description: 'Of Wi-Fi; below -80 is weak' },
    reachability: TEXT,
    problem: { ...TEXT, description: 'Why it told no more' },
  },
  ['device', 'role', 'network', 'channel', 'rssi', 'reachability', 'problem'],
);
const LINK = resultSchema({ from: TEXT, to: TEXT, rssi: decibels, lqi: INTEGER, is_child: { type: 'boolean' } }, ['rssi', 'lqi']);

/** Returns `network_topology`, which shows how devices reach the hub, and which Thread devices are neighbours. */
export function topologyTool(administration: Pick<DeviceAdministration, 'topology'>): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'network_topology',
      title: 'Network topology',
      description:
        'Asks every device about its network: Thread role and neighbours with signal strength, Wi-Fi access point and signal. Good for finding ' +
        'out why a device is slow or often unreachable: weak links, end devices far from a router. Takes some seconds.',
      tags: ['thread', 'wifi', 'signal', 'diagnostics', 'network'],
      isAsyncAllowed: true,
      timeoutMs: 60_000,
      parameters: {},
      returns: resultSchema({ nodes: { type: 'array', items: NODE }, links: { type: 'array', items: LINK } }),
    },
    async (_, { signal }) => snakeJson(await administration.topology({ signal })),
  );
}
