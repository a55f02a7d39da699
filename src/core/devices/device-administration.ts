import type { DeviceId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { Device, Reachability } from './device-model.ts';

/** Policy for findings of device attestation (Core §6.2): refuse the device, ask the person, or accept any device. */
export type AttestationPolicy = 'strict' | 'ask' | 'off';

/** A request to commission a device, by a setup code or by passcode and discriminator. */
export interface CommissionRequest {
  /** Setup code: QR text `MT:…`, or a manual pairing code of 11 or 21 digits. It is secret and never logged. */
  readonly code?: string;
  /** Passcode instead of a setup code. It is secret and never logged. */
  readonly passcode?: number;
  /** Discriminator (12 bits) for `passcode`. */
  readonly discriminator?: number;
  /** Known IP address and UDP port, instead of discovery. */
  readonly address?: { readonly host: string; readonly port: number };
  readonly name?: string;
  readonly area?: string;
  /** Name of stored Wi-Fi credentials. If `wifi` or `thread` is given, the device is commissioned over BLE. */
  readonly wifi?: string;
  readonly thread?: string;
  readonly attestation?: AttestationPolicy;
  /** True if a person has seen the attestation findings and accepts them. Used under the `ask` policy. */
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
  /** Node id on this hub's fabric, decimal. */
  readonly nodeId: string;
  /** The new devices: one for a plain device, several for a bridge or a composed device. */
  readonly devices: readonly Device[];
  readonly findings: readonly string[];
  /** New devices that seem to have been commissioned before. */
  readonly recognised: readonly RecognisedDevice[];
}

/** A new device that seems to be a removed one, because it reports the same data about itself. These data are not verified. */
export interface RecognisedDevice {
  readonly device: DeviceId;
  /** The device's former id, to which history and grants refer. */
  readonly former: DeviceId;
  readonly name?: string;
  /** Time of the removal, milliseconds since 1970. */
  readonly removedAtMs: number;
}

/** A commissioning that a crash interrupted and that the recovery could not finish. */
export interface HalfCommissioned {
  readonly id: string;
  /** Start of the commissioning, milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The commissioning step at the interruption. */
  readonly step: string;
  /** Advice for the person. */
  readonly advice: string;
}

/** A fabric of a device, from its Node Operational Credentials cluster. */
export interface FabricInfo {
  readonly fabricIndex: number;
  readonly label: string;
  readonly vendorId: number;
  /** Fabric id: 64 bits, decimal. */
  readonly fabricId: string;
  readonly isOurs: boolean;
}

/** Setup codes with which another controller can commission the device (Core §5.1.3, §5.1.4). They are secret until they expire. */
export interface ShareCode {
  readonly qrCode: string;
  readonly manualCode: string;
  /** Expiry of the codes in ISO 8601. */
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

/** The public part of named network credentials. */
export interface CredentialSet {
  readonly name: string;
  readonly kind: 'wifi' | 'thread';
  /** SSID or Thread network name; the secret part is never returned. */
  readonly network: string;
}

interface AdminOptions {
  readonly signal: AbortSignal;
}

/** Port: administration of devices. Rejects with the errors of DeviceAccess, COMMISSIONING_FAILED, CONFLICT or NOT_FOUND. */
export interface DeviceAdministration {
  commission(
    request: CommissionRequest,
    options: AdminOptions & { onProgress(progress: CommissionProgress): void },
  ): Promise<CommissionResult>;
  /** Returns the interrupted commissionings that the hub could not finish. */
  halfCommissioned(): readonly HalfCommissioned[];
  /** Removes an entry of `halfCommissioned` after a person has reset the device. Throws NOT_FOUND for an unknown id. */
  forget(id: string): void;
  /** Removes the whole node from the fabric, with `isForced` even if it is unreachable. Returns the ids of the removed devices. */
  decommission(device: DeviceId, options: AdminOptions & { readonly isForced: boolean }): Promise<readonly DeviceId[]>;
  /** Stores the name on this hub, and also writes it to NodeLabel if the device supports that attribute. */
  rename(device: DeviceId, name: string, options: AdminOptions): Promise<Device>;
  /** Returns the devices that seem to have been commissioned before and still have new ids. */
  recognised(): readonly RecognisedDevice[];
  /** Gives a recognised device its former id, and its former name and area unless new ones are set. Throws NOT_FOUND for other devices. */
  restore(device: DeviceId): Device;
  /** Sets the area that the owner has chosen; null removes the area. */
  setArea(device: DeviceId, area: string | null): Device;
  /** Makes the device blink or beep for `seconds`; 0 stops it. Rejects with NOT_SUPPORTED if the device has no Identify cluster. */
  identify(device: DeviceId, seconds: number, options: AdminOptions): Promise<void>;
  /** Measures the round trip of reading a small attribute over an established session. */
  ping(device: DeviceId, options: AdminOptions): Promise<{ readonly roundTripMs: number }>;
  /** Reads the structure, attributes and software version of the device again. */
  interview(device: DeviceId, options: AdminOptions): Promise<readonly Device[]>;
  /** Opens an enhanced commissioning window for `seconds` (180 to 900). */
  share(device: DeviceId, seconds: number, options: AdminOptions): Promise<ShareCode>;
  /** Closes the commissioning window of `share` early. */
  closeShare(device: DeviceId, options: AdminOptions): Promise<void>;
  fabrics(device: DeviceId, options: AdminOptions): Promise<readonly FabricInfo[]>;
  /** Removes another controller's fabric. Rejects with NOT_FOUND, or CONFLICT for our fabric (see `decommission`). */
  removeFabric(device: DeviceId, fabricIndex: number, options: AdminOptions): Promise<void>;
  /** Reads the diagnostics clusters: general, software and network. */
  diagnostics(device: DeviceId, options: AdminOptions): Promise<JsonObject>;
  /** Returns the Thread and Wi-Fi networks as all devices report them; devices that do not respond are named with the reason. */
  topology(options: AdminOptions): Promise<NetworkTopology>;
  /** Returns which device can install which image in the owner's folder, and for each other image why no device can install it. */
  updates(): Promise<UpdateList>;
  /**
   * Installs an image of the folder on the whole node. Resolves when the node reports its new version. `file` names the image; default: the
   * newest matching image. Rejects with CONFLICT if the image does not match or is damaged. The messages of DEVICE_UNREACHABLE, TIMEOUT and
   * OUTCOME_UNKNOWN say which step was reached.
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
  /** Sends a command to all members in one multicast message, which Matter does not acknowledge. */
  invokeGroup(group: number, cluster: string, command: string, fields: JsonObject, options: AdminOptions): Promise<void>;

  /** Returns our fabric's access control entries on the device, in the JSON form of AccessControl.Acl. */
  accessControl(device: DeviceId, options: AdminOptions): Promise<readonly JsonObject[]>;
  /** Replaces the access control entries. Throws CONFLICT for a list that would lock this hub out. */
  setAccessControl(device: DeviceId, entries: readonly JsonObject[], options: AdminOptions): Promise<void>;
  /** Returns the entries of the endpoint's Binding cluster, in the JSON form of Binding.Binding. */
  bindings(device: DeviceId, endpoint: number, options: AdminOptions): Promise<readonly JsonObject[]>;
  bind(source: DeviceEndpoint, target: BoundEndpoint, options: AdminOptions): Promise<void>;
  /** Removes the binding. If it was the last binding to its target, also revokes the access that `bind` granted. */
  unbind(source: DeviceEndpoint, target: BoundEndpoint, options: AdminOptions): Promise<void>;

  credentials(): readonly CredentialSet[];
  setWifi(name: string, ssid: string, password: string): void;
  /** Stores an operational dataset as TLV hex (Thread 1.3 §8.10). */
  setThread(name: string, datasetHex: string): void;
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
  /** URL of the release notes, from the image. The hub does not open it. */
  readonly notesUrl?: string;
}

/** An image that no device can install now, with the reason. */
export interface UnfitImage {
  readonly file: string;
  readonly reason: string;
}

/** Images in the folder, for the devices of this home. */
export interface UpdateList {
  readonly folder: string;
  readonly offers: readonly UpdateOffer[];
  readonly unfit: readonly UnfitImage[];
}

/** Steps of an update, in their order. */
export type UpdateStep = 'querying' | 'downloading' | 'applying' | 'done';

/** Progress of an update. */
export interface UpdateProgress {
  readonly step: UpdateStep;
  /** Progress of the whole update, 0 to 1. */
  readonly fraction: number;
  readonly note: string;
}

/** An update that the device has confirmed. */
export interface UpdateResult {
  readonly device: DeviceId;
  readonly file: string;
  readonly from: SoftwareVersion;
  readonly to: SoftwareVersion;
}

/** Kind of network through which a node reaches the hub. */
export type NetworkKind = 'thread' | 'wifi' | 'ethernet' | 'unknown';

/** A radio of the home. Either it is in one of our devices, or one of our devices has it as a neighbour. */
export interface TopologyNode {
  /** The device's id, or `thread:<EUI-64 in hex>` for a radio that is not ours, such as a border router. */
  readonly id: string;
  /** The device; absent for a radio that is not ours. */
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

/** A radio link: how well the radio `from` receives the radio `to`. */
export interface TopologyLink {
  readonly from: string;
  readonly to: string;
  /** Mean received signal strength, in dBm. */
  readonly rssi?: number;
  /** Link quality: 0 (none) to 3 (Thread 1.3 §4.10.1), or 0 to 255 if the device reports the quality of the neighbour's frames. */
  readonly lqi?: number;
  /** True if the radio `to` is a child of the radio `from`. */
  readonly isChild: boolean;
}

/** The radios of the home and the links between them. */
export interface NetworkTopology {
  readonly nodes: readonly TopologyNode[];
  readonly links: readonly TopologyLink[];
}
