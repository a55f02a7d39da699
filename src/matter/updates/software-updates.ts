import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type {
  DeviceAdministration,
  SoftwareVersion,
  UpdateList,
  UpdateOffer,
  UpdateResult,
} from '../../core/devices/device-administration.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { present } from '../../core/json.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { NodeClusters, rootDevice } from '../administration/node-clusters.ts';
import { deviceText } from '../devices/device-composition.ts';
import type { MatterDevices } from '../devices/matter-devices.ts';
import type { MatterNode } from '../matter-node.ts';
import { addUpdateProvider, openTransfer } from './ota-provider.ts';
import {
  type ImageFolder,
  incompatibilityOf,
  isForProduct,
  type NodeSoftware,
  target,
  type UpdateImage,
  versionText,
} from './update-images.ts';
import { RunningUpdate, type SoftwareState, UpdateMonitor } from './update-progress.ts';

interface SoftwareUpdatesParts {
  readonly devices: MatterDevices;
  readonly matter: Pick<MatterNode, 'node' | 'fabric'>;
  readonly folder: ImageFolder;
  readonly clock: Clock;
}

type UpdateRequest = Parameters<DeviceAdministration['update']>[1];

interface ReadyNode extends UpdatableNode {
  readonly software: NodeSoftware;
  readonly requestor: number;
}

/** In these states, a device is already installing an image, perhaps from another controller. */
const BUSY_STATES: ReadonlySet<string> = new Set(['Downloading', 'Applying', 'RollingBack']);

/** Updates the software of devices from images in the owner's folder (Core §11.20), never from the internet. */
export class SoftwareUpdates {
  readonly #parts: SoftwareUpdatesParts;
  readonly #updates = new Map<string, RunningUpdate>();
  readonly #busy = new Set<string>();
  /** Transfers that are closing, by node id. */
  readonly #closing = new Map<string, PromiseLike<void>>();
  #provider: Promise<number> | undefined;

  constructor(parts: SoftwareUpdatesParts) {
    this.#parts = parts;
  }

  /** Returns the images in the folder and the devices that each image fits. Uses the last reports of the devices. */
  async list(): Promise<UpdateList> {
    const { folder, devices } = this.#parts;
    const { images, broken } = await folder.read();
    const nodes = updatableNodes(devices);
    const fits = images.map((image) => ({ image, offers: nodes.flatMap((node) => offerOf(image, node)) }));
    const unfit = fits.flatMap(({ image, offers }) => (offers.length > 0 ? [] : [{ file: image.file, reason: unfitReason(image, nodes) }]));
    return { folder: folder.path, offers: fits.flatMap(({ offers }) => offers), unfit: [...unfit, ...broken] };
  }

  /**
   * Updates a whole node. Resolves when the node reports the new version. Throws CONFLICT if an update of the node already runs, or if the
   * image is damaged or does not fit. Throws NOT_FOUND if there is no image, and NOT_SUPPORTED if the node takes no update over Matter. If
   * the update fails, throws DEVICE_UNREACHABLE, CLUSTER_STATUS, TIMEOUT or OUTCOME_UNKNOWN.
   */
  async update(device: DeviceId, request: UpdateRequest): Promise<UpdateResult> {
    const root = rootDevice(this.#parts.devices, device);
    if (this.#busy.has(root.nodeId))
      throw new AtmoError('CONFLICT', `${quoted(root.name)} is being updated; wait for the end of that or cancel it`);
    this.#busy.add(root.nodeId);
    try {
      const node = await this.#readyNode(root, request.signal);
      const image = await this.#imageFor(node, request.file);
      const to = await this.#install(node, image, request);
      return { device: root.id, file: image.file, from: node.software.version, to };
    } finally {
      this.#busy.delete(root.nodeId);
    }
  }

  /** Reads the node's current software; fails at once if the node is unreachable. Throws CONFLICT if the node cannot be updated now. */
  async #readyNode(device: Device, signal: AbortSignal): Promise<ReadyNode> {
    const { requestor } = updatableNode(this.#parts.devices, device);
    if (requestor === undefined)
      throw new AtmoError('NOT_SUPPORTED', `${quoted(device.name)} takes no software over Matter; its manufacturer's app may update it`);
    const { version, state, isPossible } = await this.#software(device.id, requestor, signal);
    if (BUSY_STATES.has(state))
      throw new AtmoError('CONFLICT', `${quoted(device.name)} reports that it is ${state} already; try again later`);
    if (!isPossible)
      throw new AtmoError('CONFLICT', `${quoted(device.name)} reports that it cannot be updated now; its battery may be low`);
    return { device, requestor, software: { vendorId: device.vendor.id, productId: device.product.id, version } };
  }

  async #imageFor({ device, software }: ReadyNode, file: string | undefined): Promise<UpdateImage> {
    const { folder } = this.#parts;
    if (file !== undefined) {
      const image = await folder.image(file);
      const misfit = incompatibilityOf(image, software);
      if (misfit === undefined) return image;
      throw new AtmoError('CONFLICT', `${file} cannot be installed: ${quoted(device.name)} ${misfit}`, { file });
    }
    const { images } = await folder.read();
    const fitting = images.filter((image) => incompatibilityOf(image, software) === undefined);
    const newest = fitting.toSorted((a, b) => b.version.number - a.version.number)[0];
    if (newest) return newest;
    throw new AtmoError(
      'NOT_FOUND',
      `${folder.path} has no image for ${quoted(device.name)} (${versionText(software.version)}); see list_updates (atmo device updates)`,
    );
  }

  async #install(node: ReadyNode, image: UpdateImage, { signal, onProgress }: UpdateRequest): Promise<SoftwareVersion> {
    const { clock, devices, matter } = this.#parts;
    const { device, requestor } = node;
    const peer = devices.peerOf(device.id).peerAddress;
    if (peer === undefined) throw new AtmoError('DEVICE_NOT_FOUND', `${quoted(device.name)} is not on the fabric any more`);
    const update = new RunningUpdate({ clock, onProgress }, { device: device.name, image, token: randomBytes(32) });
    // The provider endpoint is added at the first update, because most hubs never update a device.
    this.#provider ??= addUpdateProvider(matter.node, matter.fabric, this.#updates);
    const fields = {
      providerNodeId: String(matter.fabric.rootNodeId),
      vendorId: matter.fabric.rootVendorId,
      // The update is urgent because a person requested it (Core §11.20.7.4.1).
      announcementReason: 'UrgentUpdateAvailable',
      endpoint: await this.#provider,
    };
    await this.#closing.get(device.nodeId);
    const transfer = openTransfer(matter.node, peer, update);
    this.#updates.set(device.nodeId, update);
    try {
      onProgress({ step: 'querying', fraction: 0, note: `notified the device of ${image.file}; it may wait for up to 10 minutes` });
      const clusters = new NodeClusters(devices.wholeNodes, device.id, signal);
      await clusters.invoke(REQUESTOR, 'AnnounceOtaProvider', { endpoint: requestor, fields });
      const read = (limit: AbortSignal) => this.#software(device.id, requestor, limit);
      const to = await new UpdateMonitor({ clock, update, device: device.name, read }).outcome(signal);
      onProgress({ step: 'done', fraction: 1, note: `the device runs version ${versionText(to)}` });
      return to;
    } finally {
      this.#updates.delete(device.nodeId);
      // If the device is still downloading, it gets an error. This call does not wait for that, because the caller may have cancelled it.
      this.#closing.set(device.nodeId, transfer[Symbol.asyncDispose]());
    }
  }

  /** Reads the software of the node in one interaction. */
  async #software(device: DeviceId, requestor: number, signal: AbortSignal): Promise<SoftwareState & { readonly isPossible: boolean }> {
    const basic = { device, endpoint: 0, cluster: 'BasicInformation' };
    const own = { device, endpoint: requestor, cluster: REQUESTOR };
    const paths = [
      { ...basic, attribute: 'SoftwareVersion' },
      { ...basic, attribute: 'SoftwareVersionString' },
      { ...own, attribute: 'UpdateState' },
      { ...own, attribute: 'UpdatePossible' },
    ];
    const [number, text, state, isPossible] = (await this.#parts.devices.wholeNodes.read(paths, { signal })).map(({ value }) => value);
    return { version: { number: Number(number), text: deviceText(text) }, state: String(state), isPossible: isPossible !== false };
  }
}

function offerOf(image: UpdateImage, { device, software, requestor }: UpdatableNode): readonly UpdateOffer[] {
  if (!software || requestor === undefined || incompatibilityOf(image, software) !== undefined) return [];
  const { file, version: to, notesUrl } = image;
  const { id, name } = device;
  return [present({ device: id, name, from: software.version, to, file, sizeBytes: image.blob.size, notesUrl })];
}

function unfitReason(image: UpdateImage, nodes: readonly UpdatableNode[]): string {
  const reasons = nodes.flatMap(({ device, software, requestor }) => {
    if (!software || !isForProduct(image, software)) return [];
    const misfit = requestor === undefined ? 'takes no software over Matter' : incompatibilityOf(image, software);
    return misfit === undefined ? [] : [`${quoted(device.name)} ${misfit}`];
  });
  return reasons.length > 0 ? reasons.join('; ') : `no device here is ${target(image)}`;
}

interface UpdatableNode {
  readonly device: Device;
  /** Absent before the first report of the node. */
  readonly software?: NodeSoftware;
  /** Endpoint of the OTA Software Update Requestor (Core §11.20.7); absent if the node cannot be updated over Matter. */
  readonly requestor?: number;
}

const REQUESTOR = 'OtaSoftwareUpdateRequestor';

function updatableNodes(devices: MatterDevices): readonly UpdatableNode[] {
  return devices.list().flatMap((device) => (device.parent === undefined ? [updatableNode(devices, device)] : []));
}

function updatableNode(devices: MatterDevices, device: Device): UpdatableNode {
  const path = { device: device.id, endpoint: 0, cluster: 'BasicInformation', attribute: 'SoftwareVersion' };
  const version = devices.wholeNodes.cached(path)?.value;
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
