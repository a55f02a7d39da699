import type { Device } from '../../core/devices/device-model.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { MatterDevices } from '../devices/matter-devices.ts';
import type { NodeSoftware } from './image-fit.ts';

/** What is known of a node without asking it. */
export interface UpdatableNode {
  /** The device that stands for the whole node. */
  readonly device: Device;
  /** Undefined as long as the node has told nothing. */
  readonly software?: NodeSoftware;
  /** Where it takes announcements of images (Core §11.20.7); absent where it cannot be updated over Matter. */
  readonly requestor?: number;
}

export const REQUESTOR = 'OtaSoftwareUpdateRequestor';

/** Every node of the fabric. */
export function updatableNodes(devices: MatterDevices): readonly UpdatableNode[] {
  return devices.list().flatMap((device) => (device.parent === undefined ? [updatableNode(devices, device)] : []));
}

/** One node by the device that stands for it. */
export function updatableNode(devices: MatterDevices, device: Device): UpdatableNode {
  const version = basic(devices, device.id, 'SoftwareVersion');
  const text = device.softwareVersion ?? '';
  const requestor = devices
    .devicesOfNode(device.nodeId)
    .flatMap(({ id }) => devices.describe(id)?.endpoints ?? [])
    .find(({ clusters }) => clusters.some(({ name }) => name === REQUESTOR));
  return {
    device,
    ...(typeof version === 'number' && {
      software: { vendorId: device.vendor.id, productId: device.product.id, version: { number: version, text } },
    }),
    ...(requestor && { requestor: requestor.endpoint }),
  };
}

function basic(devices: MatterDevices, device: DeviceId, attribute: string) {
  return devices.wholeNodes.cached({ device, endpoint: 0, cluster: 'BasicInformation', attribute })?.value;
}
