import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { SoftwareVersion, UpdateList, UpdateOffer, UpdateProgress, UpdateResult } from '../../core/devices/device-administration.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { NodeClusters, rootDevice } from '../administration/node-clusters.ts';
import { deviceText } from '../devices/device-text.ts';
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

/** What is asked of one update. */
export interface UpdateRequest {
  /** Name of an image in the folder; the newest that fits when absent. */
  readonly file?: string;
  readonly signal: AbortSignal;
  onProgress(progress: UpdateProgress): void;
}

interface ReadyNode extends UpdatableNode {
  readonly software: NodeSoftware;
  readonly requestor: number;
}

/** States in which a device is already at work on an image, of whichever controller. */
const BUSY_STATES: ReadonlySet<string> = new Set(['Downloading', 'Applying', 'RollingBack']);

/** Software updates of devices from images in the owner's folder (Core §11.20): nothing is looked for on the internet. */
export class SoftwareUpdates {
  readonly #with: SoftwareUpdatesParts;
  readonly #courses = new Map<string, RunningUpdate>();
  readonly #busy = new Set<string>();
  /** Transfers that are being ended, by node. */
  readonly #goodbyes = new Map<string, PromiseLike<void>>();
  #provider: Promise<number> | undefined;

  constructor(parts: SoftwareUpdatesParts) {
    this.#with = parts;
  }

  /** What could be installed where, by what the devices told last. */
  async list(): Promise<UpdateList> {
    const { folder, devices } = this.#with;
    const { images, broken } = await folder.read();
    const nodes = updatableNodes(devices);
    const fits = images.map((image) => ({ image, offers: nodes.flatMap((node) => offerOf(image, node)) }));
    const unfit = fits.flatMap(({ image, offers }) => (offers.length > 0 ? [] : [{ file: image.file, reason: unfitReason(image, nodes) }]));
    return { folder: folder.path, offers: fits.flatMap(({ offers }) => offers), unfit: [...unfit, ...broken] };
  }

  /**
   * Updates a whole node and answers once it tells the new version. CONFLICT: an update of it runs, the image does not fit or is
   * damaged; NOT_FOUND: no image; NOT_SUPPORTED: no update over Matter; DEVICE_UNREACHABLE, CLUSTER_STATUS, TIMEOUT, OUTCOME_UNKNOWN.
   */
  async update(device: DeviceId, request: UpdateRequest): Promise<UpdateResult> {
    const root = rootDevice(this.#with.devices, device);
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

  /** The node as it is now; asking it first tells at once when it is not there. */
  async #readyNode(device: Device, signal: AbortSignal): Promise<ReadyNode> {
    const { requestor } = updatableNode(this.#with.devices, device);
    if (requestor === undefined)
      throw new AtmoError('NOT_SUPPORTED', `${quoted(device.name)} takes no software over Matter; its manufacturer's app may update it`);
    const { version, state, isPossible } = await this.#software(device.id, requestor, signal);
    if (BUSY_STATES.has(state))
      throw new AtmoError('CONFLICT', `${quoted(device.name)} says that it is ${state} already; try again when it is done`);
    if (!isPossible) throw new AtmoError('CONFLICT', `${quoted(device.name)} says that it cannot be updated now; its battery may be low`);
    return { device, requestor, software: { vendorId: device.vendor.id, productId: device.product.id, version } };
  }

  async #imageFor({ device, software }: ReadyNode, file: string | undefined): Promise<UpdateImage> {
    const { folder } = this.#with;
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
      `${folder.path} holds no image for ${quoted(device.name)}, which runs ${versionText(software.version)}; list_updates says why`,
    );
  }

  async #install(node: ReadyNode, image: UpdateImage, { signal, onProgress }: UpdateRequest): Promise<SoftwareVersion> {
    const { clock, devices, matter } = this.#with;
    const { device, requestor } = node;
    const peer = devices.peerOf(device.id).peerAddress;
    if (peer === undefined) throw new AtmoError('DEVICE_NOT_FOUND', `${quoted(device.name)} is not on the fabric any more`);
    const course = new RunningUpdate({ clock, onProgress }, { device: device.name, image, token: randomBytes(32) });
    const endpoint = await this.#openProvider();
    const clusters = new NodeClusters(devices.wholeNodes, device.id, signal);
    await this.#goodbyes.get(device.nodeId);
    const transfer = openTransfer(matter.node, peer, course);
    this.#courses.set(device.nodeId, course);
    try {
      onProgress({ step: 'querying', fraction: 0, note: `told the device of ${image.file}; it may wait for up to 10 minutes` });
      await clusters.invoke(REQUESTOR, 'AnnounceOtaProvider', { endpoint: requestor, fields: announcement(matter, endpoint) });
      const ask = (limit: AbortSignal) => this.#software(device.id, requestor, limit);
      const to = await new UpdateMonitor({ clock, course, device: device.name, ask }).outcome(signal);
      onProgress({ step: 'done', fraction: 1, note: `the device runs version ${versionText(to)}` });
      return to;
    } finally {
      this.#courses.delete(device.nodeId);
      // A device that still downloads is told so; whoever cancelled need not wait for that.
      this.#goodbyes.set(device.nodeId, transfer[Symbol.asyncDispose]());
    }
  }

  /** Asks the node, in one interaction. */
  async #software(device: DeviceId, requestor: number, signal: AbortSignal): Promise<SoftwareState & { readonly isPossible: boolean }> {
    const basic = { device, endpoint: 0, cluster: 'BasicInformation' };
    const own = { device, endpoint: requestor, cluster: REQUESTOR };
    const paths = [
      { ...basic, attribute: 'SoftwareVersion' },
      { ...basic, attribute: 'SoftwareVersionString' },
      { ...own, attribute: 'UpdateState' },
      { ...own, attribute: 'UpdatePossible' },
    ];
    const [number, text, state, isPossible] = (await this.#with.devices.wholeNodes.read(paths, { signal })).map(({ value }) => value);
    return { version: { number: Number(number), text: deviceText(text) }, state: String(state), isPossible: isPossible !== false };
  }

  /** Most hubs never update anything: the endpoint is made for the first update. */
  async #openProvider(): Promise<number> {
    const { node, fabric } = this.#with.matter;
    this.#provider ??= addUpdateProvider(node, fabric, this.#courses);
    return this.#provider;
  }
}

/** A person asked for the update: that is urgent (Core §11.20.7.4.1). */
const announcement = ({ fabric }: SoftwareUpdatesParts['matter'], endpoint: number) => ({
  providerNodeId: String(fabric.rootNodeId),
  vendorId: fabric.rootVendorId,
  announcementReason: 'UrgentUpdateAvailable',
  endpoint,
});

function offerOf(image: UpdateImage, { device, software, requestor }: UpdatableNode): readonly UpdateOffer[] {
  if (!software || requestor === undefined || incompatibilityOf(image, software) !== undefined) return [];
  const { file, version: to, notesUrl } = image;
  const offer = { device: device.id, name: device.name, from: software.version, to, file, sizeBytes: image.blob.size };
  return [{ ...offer, ...(notesUrl !== undefined && { notesUrl }) }];
}

function unfitReason(image: UpdateImage, nodes: readonly UpdatableNode[]): string {
  const reasons = nodes.flatMap(({ device, software, requestor }) => {
    if (!software || !isForProduct(image, software)) return [];
    const misfit = requestor === undefined ? 'takes no software over Matter' : incompatibilityOf(image, software);
    return misfit === undefined ? [] : [`${quoted(device.name)} ${misfit}`];
  });
  return reasons.length > 0 ? reasons.join('; ') : `no device here is ${target(image)}`;
}

/** What is known of a node without asking it. */
interface UpdatableNode {
  /** The device that stands for the whole node. */
  readonly device: Device;
  /** Undefined as long as the node has told nothing. */
  readonly software?: NodeSoftware;
  /** Where it takes announcements of images (Core §11.20.7); absent where it cannot be updated over Matter. */
  readonly requestor?: number;
}

const REQUESTOR = 'OtaSoftwareUpdateRequestor';

/** Every node of the fabric. */
function updatableNodes(devices: MatterDevices): readonly UpdatableNode[] {
  return devices.list().flatMap((device) => (device.parent === undefined ? [updatableNode(devices, device)] : []));
}

/** One node by the device that stands for it. */
function updatableNode(devices: MatterDevices, device: Device): UpdatableNode {
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
