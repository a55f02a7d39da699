import type { Device } from '../../core/devices/device-model.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, INSTANT, p, resultSchema, TEXT } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { copyJson, snakeJson } from '../schema/plain-json.ts';
import { ACTS_ON_HUB, type AdminPorts, actsOnNode, DONE, deviceOf, deviceParameter, done, readsDevice, SUCCESS } from './hub-tool.ts';

const device = { device_id: deviceParameter };

/** Time for all devices: one that does not answer takes some seconds. */
const SHARE_ALL_TIMEOUT_MS = 300_000;

const openedProperties = {
  opened: { type: 'string', description: 'The device that is opened or closed as a whole: the bridge of what is behind one' },
  devices: { type: 'integer', description: 'How many devices of this home that are' },
} as const;

/** Returns the tools that share a device with other controllers, list and remove its controllers, and change its access control. */
export function fabricTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [
    shareTool(ports),
    shareAllTool(ports),
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

const SHARED_DEVICE = {
  device_id: TEXT,
  name: TEXT,
  area: { type: ['string', 'null'] },
  devices: openedProperties.devices,
  qr_code: { type: 'string', 'x-secret': true },
  manual_code: { type: 'string', 'x-secret': true },
  expires_at: INSTANT,
} as const;

function shareAllTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'share_devices',
      title: 'Share all devices',
      description:
        'Opens every device, or every one in a room, for another controller for a while and answers the codes of each. Devices are asked one after another; one that fails is told and does not stop the rest. Who has the codes gets all rights on the devices.',
      tags: ['share', 'fabric', 'apple', 'google', 'alexa', 'multi-admin'],
      isDangerous: true,
      isAsyncAllowed: true,
      timeoutMs: SHARE_ALL_TIMEOUT_MS,
      parameters: {
        area: p.string({ description: 'Only the devices in this room', minLength: 1, maxLength: 64 }).optional(),
        seconds: p.integer({ description: 'How long each stays open', minimum: 180, maximum: 900, default: 900, unit: 's' }),
      },
      effects: ({ area }) =>
        devicesToShare(ports, area)
          .flatMap(({ id }) => ports.bounds.nodeOf(id))
          .map((id) => ({ permission: `admin:device:${id}`, risk: 'low', target: id, device: id })),
      returns: resultSchema({
        shared: { type: 'array', items: resultSchema(SHARED_DEVICE) },
        failed: {
          type: 'array',
          items: resultSchema({ device_id: TEXT, name: TEXT, area: SHARED_DEVICE.area, code: TEXT, message: TEXT }),
        },
      }),
    },
    async ({ area, seconds }, { signal, progress }) => {
      const devices = devicesToShare(ports, area);
      if (devices.length === 0)
        throw new AtmoError('NOT_FOUND', area === undefined ? 'There is no device to share' : `No device is in ${area}`);
      const shared: JsonObject[] = [];
      const failed: JsonObject[] = [];
      for (const [index, device] of devices.entries()) {
        progress(index / devices.length, device.name);
        const facts = { device_id: device.id, name: device.name, area: device.area ?? null };
        try {
          const { qrCode, manualCode, expiresAt } = await ports.administration.share(device.id, seconds, { signal });
          const { devices: count } = openedBy(ports, device.id);
          shared.push({ ...facts, devices: count, qr_code: qrCode, manual_code: manualCode, expires_at: expiresAt });
        } catch (thrown) {
          if (signal.aborted) throw thrown;
          const { code, message } = toAtmoError(thrown).toBody();
          failed.push({ ...facts, code, message });
        }
      }
      return { shared, failed };
    },
  );
}

/** Returns the devices that can be shared: each whole Matter node once. What is behind a bridge is shared with the bridge. */
function devicesToShare({ naming }: AdminPorts, area: string | undefined): readonly Device[] {
  const wanted = area === undefined ? undefined : areaKey(naming.areaToday(area));
  const whole = naming.directory.list().filter(({ kind }) => kind === 'node');
  return whole.filter((device) => wanted === undefined || (device.area !== undefined && areaKey(device.area) === wanted));
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
