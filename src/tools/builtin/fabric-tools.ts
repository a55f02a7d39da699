import type { Device } from '../../core/devices/device-model.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, INSTANT, p, resultSchema, TEXT } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { copyJson, snakeJson } from '../schema/plain-json.ts';
import {
  ACTS_ON_HUB,
  type AdminPorts,
  actsOnNode,
  DONE,
  deviceOf,
  deviceParameter,
  done,
  READS_WHOLE_HUB,
  readsDevice,
  SUCCESS,
} from './hub-tool.ts';

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
    listToShareTool(ports),
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

/** A device without its codes: one that was left out, could not be opened, or is not opened yet. */
const CLOSED_DEVICE = { device_id: TEXT, name: TEXT, area: SHARED_DEVICE.area, devices: openedProperties.devices } as const;

const LEFT_OUT = {
  type: 'array',
  items: resultSchema(CLOSED_DEVICE),
  description: 'Locks, valves and what else can do dangerous things; devices behind a bridge count for the bridge',
} as const;

const WHICH_DEVICES = {
  area: p.string({ description: 'Only the devices in this room', minLength: 1, maxLength: 64 }).optional(),
  dangerous: p.boolean({
    description:
      'Also locks, valves and what else can do dangerous things. In the other app the approvals and rules of this hub do not apply',
    default: false,
  }),
};

interface WhichDevices {
  readonly area?: string | undefined;
  readonly dangerous: boolean;
}

function listToShareTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'list_devices_to_share',
      title: 'List the devices that can be shared',
      description: 'Lists the devices that share_devices opens, each whole Matter node once, and those that it leaves out.',
      parameters: WHICH_DEVICES,
      returns: resultSchema({ devices: { type: 'array', items: resultSchema(CLOSED_DEVICE) }, left_out: LEFT_OUT }),
    },
    async (which) => {
      const { toOpen, leftOut } = devicesToShare(ports, which);
      return { devices: toOpen.map((one) => closedDevice(ports, one)), left_out: leftOut.map((one) => closedDevice(ports, one)) };
    },
  );
}

function shareAllTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'share_devices',
      title: 'Share all devices',
      description:
        'Opens every device, or every one in a room, for another controller for a while and answers the codes of each. Devices are opened one after another; the answer lists those that failed. Who has the codes gets all rights on the devices, past the approvals and rules of this hub.',
      tags: ['share', 'fabric', 'apple', 'google', 'alexa', 'multi-admin'],
      isDangerous: true,
      isAsyncAllowed: true,
      timeoutMs: SHARE_ALL_TIMEOUT_MS,
      parameters: {
        ...WHICH_DEVICES,
        seconds: p.integer({ description: 'How long each stays open', minimum: 180, maximum: 900, default: 900, unit: 's' }),
      },
      effects: (which) =>
        devicesToShare(ports, which)
          .toOpen.flatMap(({ id }) => ports.bounds.nodeOf(id))
          .map((id) => ({ permission: `admin:device:${id}`, risk: 'low', target: id, device: id })),
      returns: resultSchema({
        shared: { type: 'array', items: resultSchema(SHARED_DEVICE) },
        failed: {
          type: 'array',
          items: resultSchema({ ...CLOSED_DEVICE, code: TEXT, message: TEXT }),
        },
        left_out: LEFT_OUT,
      }),
    },
    async ({ seconds, ...which }, { signal, progress }) => {
      const { toOpen, leftOut } = devicesToShare(ports, which);
      const shared: JsonObject[] = [];
      const failed: JsonObject[] = [];
      for (const [index, device] of toOpen.entries()) {
        progress(index / toOpen.length, device.name);
        const facts = closedDevice(ports, device);
        try {
          const { qrCode, manualCode, expiresAt } = await ports.administration.share(device.id, seconds, { signal });
          shared.push({ ...facts, qr_code: qrCode, manual_code: manualCode, expires_at: expiresAt });
        } catch (thrown) {
          if (signal.aborted) throw thrown;
          const { code, message } = toAtmoError(thrown).toBody();
          failed.push({ ...facts, code, message });
        }
      }
      return { shared, failed, left_out: leftOut.map((one) => closedDevice(ports, one)) };
    },
  );
}

interface DevicesToShare {
  readonly toOpen: readonly Device[];
  /** Devices that may be dangerous, such as locks. Empty if the caller asked for these too. */
  readonly leftOut: readonly Device[];
}

/**
 * Returns the devices that can be shared: each whole Matter node once, since what is behind a bridge is shared with the bridge. Throws
 * NOT_FOUND if there is none.
 */
function devicesToShare({ naming, bounds }: AdminPorts, { area, dangerous }: WhichDevices): DevicesToShare {
  const wanted = area === undefined ? undefined : areaKey(naming.areaToday(area));
  const whole = naming.directory.list().filter(({ kind }) => kind === 'node');
  const there = whole.filter((device) => wanted === undefined || (device.area !== undefined && areaKey(device.area) === wanted));
  if (there.length === 0)
    throw new AtmoError('NOT_FOUND', area === undefined ? 'There is no device to share' : `No device to share is in ${area}`);
  const isLeftOut = ({ id }: Device) => !dangerous && bounds.nodeOf(id).some((one) => bounds.isGuarded(one));
  return { toOpen: there.filter((device) => !isLeftOut(device)), leftOut: there.filter(isLeftOut) };
}

function closedDevice(ports: AdminPorts, { id, name, area }: Device) {
  return { device_id: id, name, area: area ?? null, devices: openedBy(ports, id).devices };
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
