import type { DeviceId } from '../../core/ids.ts';
import { defineTool, INSTANT, p, resultSchema } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { copyJson, snakeJson } from '../schema/plain-json.ts';
import { type AdminPorts, actsOnNode, DONE, deviceOf, deviceParameter, done, readsDevice, SUCCESS } from './hub-tool.ts';

const device = { device_id: deviceParameter };

/** Returns the tools that share a device with other controllers, list and remove its controllers, and change its access control. */
export function fabricTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [
    shareTool(ports),
    closeShareTool(ports),
    listFabricsTool(ports),
    removeFabricTool(ports),
    getAccessControlTool(ports),
    setAccessControlTool(ports),
  ];
}

function shareTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...actsOnNode(ports),
      name: 'share_device',
      title: 'Share a device',
      description:
        'Opens a device for another controller for a while and answers the codes that it needs. Who has them gets all rights on the whole node: on a bridge, and on all devices behind it.',
      isDangerous: true,
      parameters: { ...device, seconds: p.integer({ description: 'How long', minimum: 180, maximum: 900, default: 300, unit: 's' }) },
      returns: resultSchema({
        ...openedProperties,
        qr_code: { type: 'string', 'x-secret': true },
        manual_code: { type: 'string', 'x-secret': true },
        expires_at: INSTANT,
      }),
    },
    async ({ seconds, ...params }, { signal }) => {
      const { qrCode, manualCode, expiresAt } = await ports.administration.share(deviceOf(params), seconds, { signal });
      return { qr_code: qrCode, manual_code: manualCode, expires_at: expiresAt, ...openedBy(ports, deviceOf(params)) };
    },
  );
}

function closeShareTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...actsOnNode(ports),
      name: 'close_share',
      title: 'Stop sharing a device',
      description: 'Closes a device that was opened for another controller; the codes are worth nothing then.',
      isIdempotent: true,
      parameters: device,
      returns: { ...DONE, properties: { ...DONE.properties, ...openedProperties } },
    },
    async (params, { signal }) => {
      await ports.administration.closeShare(deviceOf(params), { signal });
      return { ...SUCCESS, ...openedBy(ports, deviceOf(params)) };
    },
  );
}

const openedProperties = {
  opened: { type: 'string', description: 'The device that is opened or closed as a whole: the bridge of what is behind one' },
  devices: { type: 'integer', description: 'How many devices of this home that are' },
} as const;

/** Returns the device that represents the opened node, and the number of its devices. A commissioning window opens them all. */
function openedBy({ bounds }: AdminPorts, device: DeviceId): { readonly opened: string; readonly devices: number } {
  return { opened: bounds.wholeOf(device), devices: bounds.nodeOf(device).length };
}

function listFabricsTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...readsDevice(ports),
      name: 'list_fabrics',
      title: 'List the controllers of a device',
      description: 'Lists the fabrics (controllers) that a device belongs to.',
      parameters: device,
    },
    async (params, { signal }) => snakeJson(await ports.administration.fabrics(deviceOf(params), { signal })),
  );
}

function removeFabricTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...actsOnNode(ports),
      name: 'remove_fabric',
      title: 'Remove a controller from a device',
      description: 'Takes another controller off a device; that controller then has to be given a new code to come back.',
      isDangerous: true,
      parameters: { ...device, fabric_index: p.integer({ description: 'From list_fabrics', minimum: 1, maximum: 254 }) },
      returns: DONE,
    },
    async ({ fabric_index: fabricIndex, ...params }, { signal }) =>
      done(ports.administration.removeFabric(deviceOf(params), fabricIndex, { signal })),
  );
}

function getAccessControlTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...readsDevice(ports),
      name: 'get_access_control',
      title: 'Read access control',
      description: "Reads the access control entries of this hub's fabric on a device.",
      parameters: device,
    },
    async (params, { signal }) => copyJson(await ports.administration.accessControl(deviceOf(params), { signal })),
  );
}

function setAccessControlTool(ports: AdminPorts): RegisteredTool {
  const entry = p.record({ description: 'One entry as get_access_control answers it' });
  return defineTool(
    {
      ...actsOnNode(ports),
      name: 'set_access_control',
      title: 'Replace access control',
      description: "Replaces the access control entries of this hub's fabric on a device; a list that would lock the hub out is refused.",
      isDangerous: true,
      isIdempotent: true,
      parameters: { ...device, entries: p.array(entry, { description: 'The new list', minItems: 1, maxItems: 64 }) },
      returns: DONE,
    },
    async ({ entries, ...params }, { signal }) => done(ports.administration.setAccessControl(deviceOf(params), entries, { signal })),
  );
}
