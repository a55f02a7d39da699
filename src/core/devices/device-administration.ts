import type { DeviceId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { Device, Reachability } from './device-model.ts';

/** What to do about findings of device attestation (Core §6.2): `strict` refuses the device, `ask` asks a person, `off` accepts it. */
export type AttestationPolicy = 'strict' | 'ask' | 'off';

/** A request to commission a device, by a setup code or by passcode and discriminator. */
export interface CommissionRequest {
  /** Setup code: QR text `MT:…`, or a manual pairing code of 11 or 21 digits. It is secret and never logged. */
  readonly code?: string;
  /** Passcode instead of a setup code. It is secret and never logged. */
  readonly passcode?: number;
  /** Discriminator (12 bits) that belongs to `passcode`. */
  readonly discriminator?: number;
  /** IP address and UDP port of the device, if they are known. Discovery is then skipped. */
  readonly address?: { readonly host: string; readonly port: number };
  readonly name?: string;
  readonly area?: string;
  /** Name of stored Wi-Fi credentials. If `wifi` or `thread` is given, the device is commissioned over BLE. */
  readonly wifi?: string;
  readonly thread?: string;
  readonly attestation?: AttestationPolicy;
  /** True if a person has seen the attestation findings and accepts them. Has an effect only under the policy `ask`. */
  readonly acceptAttestation?: boolean;
}

/** Steps of a commissioning, in order. */
export const COMMISSION_STEPS = ['parse', 'discover', 'connect', 'attest', 'network', 'join', 'interview', 'record', 'done'] as const;
export type CommissionStep = (typeof COMMISSION_STEPS)[number];

/** A step of a commissioning, with a note for people. */
export interface CommissionProgress {
  readonly step: CommissionStep;
  readonly note: string;
}

/** The result of a commissioning. */
export interface CommissionResult {
  /** Node id of the device in this hub's fabric, as decimal text. */
  readonly nodeId: string;
  /** The new devices: several for a bridge or a composed device, otherwise one. */
  readonly devices: readonly Device[];
  readonly findings: readonly string[];
  /** Those new devices that seem to have been in this home before. */
  readonly recognised: readonly RecognisedDevice[];
}

/** A new device that seems to be one that was removed, because it reports the same identity. The hub cannot verify that identity. */
export interface RecognisedDevice {
  readonly device: DeviceId;
  /** The id that the device had before. History and grants still refer to it. */
  readonly former: DeviceId;
  readonly name?: string;
  /** Time when the former device was removed, milliseconds since 1970. */
  readonly removedAtMs: number;
}

/** A device that another one replaces, as people knew it. */
export interface ReplacedDevice {
  readonly id: DeviceId;
  readonly name: string;
  readonly area?: string;
}

/** A commissioning that a crash interrupted and that the hub could not finish after its restart. */
export interface HalfCommissioned {
  readonly id: string;
  /** Start of the commissioning, milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The step at which the commissioning was interrupted. */
  readonly step: string;
  /** Advice about what the person should do. */
  readonly advice: string;
}

/** A fabric to which a device belongs, as the device's Node Operational Credentials cluster reports it. */
export interface FabricInfo {
  readonly fabricIndex: number;
  readonly label: string;
  readonly vendorId: number;
  /** Fabric id (64 bits) as decimal text. */
  readonly fabricId: string;
  readonly isOurs: boolean;
}

/** Setup codes with which another controller can commission the device (Core §5.1.3, §5.1.4). They are secret until they expire. */
export interface ShareCode {
  readonly qrCode: string;
  readonly manualCode: string;
  /** Time at which the codes expire, in ISO 8601. */
  readonly expiresAt: string;
}

/** An endpoint of a device. */
export interface DeviceEndpoint {
  readonly device: DeviceId;
  readonly endpoint: number;
}

/** Target of a binding: an endpoint, or one of its clusters. */
export interface BoundEndpoint extends DeviceEndpoint {
  readonly cluster?: string;
}

/** A group of endpoints that receive one multicast message. */
export interface GroupInfo {
  readonly id: number;
  readonly name: string;
  readonly members: readonly DeviceEndpoint[];
}

/** Named network credentials without their secret part. */
export interface CredentialSet {
  readonly name: string;
  readonly kind: 'wifi' | 'thread';
  /** SSID, or name of the Thread network. The secret part is never returned. */
  readonly network: string;
}

interface AdminOptions {
  readonly signal: AbortSignal;
}

/** Port: administration of devices. Rejects with the errors of DeviceAccess, and with COMMISSIONING_FAILED, CONFLICT or NOT_FOUND. */
export interface DeviceAdministration {
  commission(
    request: CommissionRequest,
    options: AdminOptions & { onProgress(progress: CommissionProgress): void },
  ): Promise<CommissionResult>;
  /** Returns the commissionings that were interrupted and that the hub could not finish. */
  halfCommissioned(): readonly HalfCommissioned[];
  /** Removes the record of an interrupted commissioning after a person has reset the device. Throws NOT_FOUND for an unknown id. */
  forget(id: string): void;
  /** Removes the whole node and returns the ids of its devices. If the node does not respond, rejects, unless `isForced` is true. */
  decommission(device: DeviceId, options: AdminOptions & { readonly isForced: boolean }): Promise<readonly DeviceId[]>;
  /** Writes the name to the device's NodeLabel if the device supports it, and then stores the name on this hub. */
  rename(device: DeviceId, name: string, options: AdminOptions): Promise<Device>;
  /** Returns the recognised devices that have not yet got their former ids back. */
  recognised(): readonly RecognisedDevice[];
  /** Gives a recognised device its former id, and its former name and area unless new ones are set. Throws NOT_FOUND for other devices. */
  restore(device: DeviceId): Device;
  /** Gives a device the id, name and area of a device that it replaces. Throws CONFLICT if that one is still in the home. */
  takeOver(device: DeviceId, replaced: ReplacedDevice): Device;
  /** Sets the area that the owner has chosen; null removes the area. */
  setArea(device: DeviceId, area: string | null): Device;
  /** Makes the device blink or beep for `seconds`; 0 stops it. Rejects with NOT_SUPPORTED if the device has no Identify cluster. */
  identify(device: DeviceId, seconds: number, options: AdminOptions): Promise<void>;
  /** Measures the round trip time of one small read over an established session. */
  ping(device: DeviceId, options: AdminOptions): Promise<{ readonly roundTripMs: number }>;
  /** Reads all attributes of the node again and returns its devices. */
  interview(device: DeviceId, options: AdminOptions): Promise<readonly Device[]>;
  /** Opens an enhanced commissioning window for `seconds` (180 to 900), so that another controller can commission the device. */
  share(device: DeviceId, seconds: number, options: AdminOptions): Promise<ShareCode>;
  /** Closes the commissioning window of `share` early. */
  closeShare(device: DeviceId, options: AdminOptions): Promise<void>;
  fabrics(device: DeviceId, options: AdminOptions): Promise<readonly FabricInfo[]>;
  /** Removes another controller's fabric. Rejects with NOT_FOUND (no such fabric) or CONFLICT (our own fabric: use `decommission`). */
  removeFabric(device: DeviceId, fabricIndex: number, options: AdminOptions): Promise<void>;
  /** Reads the node's diagnostics clusters, such as general, software and network diagnostics. */
  diagnostics(device: DeviceId, options: AdminOptions): Promise<JsonObject>;
  /** Returns the networks of the home as the nodes report them. For a node that does not respond, the result contains the reason. */
  topology(options: AdminOptions): Promise<NetworkTopology>;
  /** Returns the images in the owner's folder: which device can install which image, and why no device can install the others. */
  updates(): Promise<UpdateList>;
  /**
   * Installs an image from the owner's folder on the whole node: `file`, or by default the newest matching image. Resolves when the node
   * reports the new version. Rejects with CONFLICT if the image does not match or is damaged. If it rejects with DEVICE_UNREACHABLE,
   * TIMEOUT or OUTCOME_UNKNOWN, the message says which step was reached.
   */
  update(
    device: DeviceId,
    options: AdminOptions & { readonly file?: string; onProgress(progress: UpdateProgress): void },
  ): Promise<UpdateResult>;

  groups(): readonly GroupInfo[];
  createGroup(name: string, members: readonly DeviceEndpoint[], options: AdminOptions): Promise<GroupInfo>;
  addGroupMember(group: number, member: DeviceEndpoint, options: AdminOptions): Promise<GroupInfo>;
  removeGroupMember(group: number, member: DeviceEndpoint, options: AdminOptions): Promise<GroupInfo>;
  deleteGroup(group: number, options: AdminOptions): Promise<void>;
  /** Sends a command to all members in one multicast message. Matter does not acknowledge such messages. */
  invokeGroup(group: number, cluster: string, command: string, fields: JsonObject, options: AdminOptions): Promise<void>;

  /** Returns the access control entries of our fabric on the device, in the JSON form of the attribute AccessControl.Acl. */
  accessControl(device: DeviceId, options: AdminOptions): Promise<readonly JsonObject[]>;
  /** Replaces these access control entries. Throws CONFLICT if the new list would lock this hub out. */
  setAccessControl(device: DeviceId, entries: readonly JsonObject[], options: AdminOptions): Promise<void>;
  /** Returns the bindings of an endpoint, in the JSON form of the attribute Binding.Binding. */
  bindings(device: DeviceId, endpoint: number, options: AdminOptions): Promise<readonly JsonObject[]>;
  bind(source: DeviceEndpoint, target: BoundEndpoint, options: AdminOptions): Promise<void>;
  /** Removes the binding. If no other binding to its target remains, also revokes the access that `bind` granted. */
  unbind(source: DeviceEndpoint, target: BoundEndpoint, options: AdminOptions): Promise<void>;

  credentials(): readonly CredentialSet[];
  setWifi(name: string, ssid: string, password: string): Promise<void>;
  /** Stores a Thread operational dataset. `datasetHex` contains its TLVs in hex (Thread 1.3 §8.10). */
  setThread(name: string, datasetHex: string): Promise<void>;
  /** Imports the active dataset from the REST API of an OpenThread Border Router. */
  importThread(name: string, routerUrl: string, options: AdminOptions): Promise<CredentialSet>;
  removeCredentials(name: string): boolean;
}

/** A software version, as a number and as text. */
export interface SoftwareVersion {
  /** Version number; a greater number is newer (Core §11.1.5.10). */
  readonly number: number;
  /** Version text of the manufacturer; empty if unknown. */
  readonly text: string;
}

/** An image in the owner's folder that a device could install. */
export interface UpdateOffer {
  readonly device: DeviceId;
  readonly name: string;
  readonly from: SoftwareVersion;
  readonly to: SoftwareVersion;
  /** File name of the image in the folder. */
  readonly file: string;
  readonly sizeBytes: number;
  /** URL of the release notes, as the image gives it. The hub does not open the URL. */
  readonly notesUrl?: string;
}

/** An image in the folder that no device can install now, with the reason. */
export interface UnfitImage {
  readonly file: string;
  readonly reason: string;
}

/** The images in the owner's folder: those that a device can install (`offers`), and the others (`unfit`). */
export interface UpdateList {
  readonly folder: string;
  readonly offers: readonly UpdateOffer[];
  readonly unfit: readonly UnfitImage[];
}

/** Steps of an update, in their order. */
type UpdateStep = 'querying' | 'downloading' | 'applying' | 'done';

/** Progress of an update. */
export interface UpdateProgress {
  readonly step: UpdateStep;
  /** Progress of the whole update, 0 to 1. */
  readonly fraction: number;
  readonly note: string;
}

/** A finished update. The device has reported that it runs the version `to`. */
export interface UpdateResult {
  readonly device: DeviceId;
  readonly file: string;
  readonly from: SoftwareVersion;
  readonly to: SoftwareVersion;
}

/** Kind of network through which a node reaches the hub. */
export type NetworkKind = 'thread' | 'wifi' | 'ethernet' | 'unknown';

/** A node of the topology: one of our Matter nodes, or an unknown Thread radio that one of our nodes has as a neighbour. */
export interface TopologyNode {
  /** The device id of our node, or `thread:<EUI-64 in hex>` for an unknown radio, such as a border router. */
  readonly id: string;
  /** The device id of our node; absent for an unknown radio. */
  readonly device?: DeviceId;
  readonly name: string;
  readonly kind: NetworkKind;
  /** Role in the Thread network, such as `Router` or `SleepyEndDevice` (Core §11.14.5.3). */
  readonly role?: string;
  /** Name of the Thread network, or BSSID of the Wi-Fi access point. */
  readonly network?: string;
  readonly channel?: number;
  /** Received signal strength of Wi-Fi, in dBm. */
  readonly rssi?: number;
  readonly reachability?: Reachability;
  /** Reason why the node's diagnostics could not be read. */
  readonly problem?: string;
}

/** A Thread link: how well the node `from` receives the node `to`. */
export interface TopologyLink {
  readonly from: string;
  readonly to: string;
  /** Received signal strength in dBm: the average, or the last value if there is no average. */
  readonly rssi?: number;
  /** Link quality: 0 (none) to 3 (Thread 1.3 §4.10.1). Devices that report the quality of received frames use 0 to 255 instead. */
  readonly lqi?: number;
  /** True if the node `to` is a child of the node `from` in the Thread network. */
  readonly isChild: boolean;
}

/** The nodes of the home's networks and the links between the nodes. */
export interface NetworkTopology {
  readonly nodes: readonly TopologyNode[];
  readonly links: readonly TopologyLink[];
}
