import type { DeviceId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { Device, Reachability } from './device-model.ts';

/** How the device proves what it is (Core §6.2): refuse findings, ask the person, or take any device. */
export type AttestationPolicy = 'strict' | 'ask' | 'off';

/** What a person gives to bring a device into this home: a code, or passcode and discriminator. */
export interface CommissionRequest {
  /** QR text `MT:…`, or a manual pairing code of 11 or 21 digits. Secret: never logged. */
  readonly code?: string;
  /** Instead of a code. Secret: never logged. */
  readonly passcode?: number;
  /** 12 bits; with `passcode`. */
  readonly discriminator?: number;
  /** Known IP address and UDP port: no discovery. */
  readonly address?: { readonly host: string; readonly port: number };
  readonly name?: string;
  readonly area?: string;
  /** Names of credential sets; their presence asks for commissioning over BLE. */
  readonly wifi?: string;
  readonly thread?: string;
  readonly attestation?: AttestationPolicy;
  /** Answers the `ask` policy in advance: findings seen before and accepted by a person. */
  readonly acceptAttestation?: boolean;
}

/** Steps in the order in which a person waits for them. */
export const COMMISSION_STEPS = ['parse', 'discover', 'connect', 'attest', 'network', 'join', 'interview', 'record', 'done'] as const;
export type CommissionStep = (typeof COMMISSION_STEPS)[number];

/** A step of a commissioning, with a note for the person who waits. */
export interface CommissionProgress {
  readonly step: CommissionStep;
  readonly note: string;
}

/** What a commissioning brought. */
export interface CommissionResult {
  /** Node id on this hub's fabric, decimal. */
  readonly nodeId: string;
  /** One for a plain device, more behind a bridge or in a composed device. */
  readonly devices: readonly Device[];
  /** Attestation findings that were accepted. */
  readonly findings: readonly string[];
  /** Devices among them that seem to have been here before. */
  readonly recognised: readonly RecognisedDevice[];
}

/** A device that seems to be one that was removed: by what it says of itself, which may be untrue. */
export interface RecognisedDevice {
  readonly device: DeviceId;
  /** The id that it had, with the history and the grants of that. */
  readonly former: DeviceId;
  /** The name that a person had given it. */
  readonly name?: string;
  /** Milliseconds since 1970. */
  readonly removedAtMs: number;
}

/** A commissioning that a crash interrupted and that adoption could not finish. */
export interface HalfCommissioned {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The step that it was interrupted in. */
  readonly step: string;
  /** What the person has to do. */
  readonly advice: string;
}

/** A fabric that a device belongs to, as its Node Operational Credentials cluster tells. */
export interface FabricInfo {
  readonly fabricIndex: number;
  readonly label: string;
  readonly vendorId: number;
  /** 64 bits, decimal. */
  readonly fabricId: string;
  readonly isOurs: boolean;
}

/** What another controller needs to join (Core §5.1.3, §5.1.4). Secret until it expires. */
export interface ShareCode {
  readonly qrCode: string;
  readonly manualCode: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

/** One endpoint of a device. */
export interface DeviceEndpoint {
  readonly device: DeviceId;
  readonly endpoint: number;
}

/** Where a binding points: an endpoint, or one cluster of it. */
export interface BoundEndpoint extends DeviceEndpoint {
  readonly cluster?: string;
}

/** A group of endpoints that one multicast frame reaches. */
export interface GroupInfo {
  readonly id: number;
  readonly name: string;
  readonly members: readonly DeviceEndpoint[];
}

/** Network credentials under a name, as far as they may be shown. */
export interface CredentialSet {
  readonly name: string;
  readonly kind: 'wifi' | 'thread';
  /** SSID or Thread network name; the secret part is never read back. */
  readonly network: string;
}

interface AdminOptions {
  readonly signal: AbortSignal;
}

/** Port: what an administrator does with devices. Errors as DeviceAccess, and COMMISSIONING_FAILED, CONFLICT, NOT_FOUND. */
export interface DeviceAdministration {
  commission(
    request: CommissionRequest,
    options: AdminOptions & { onProgress(progress: CommissionProgress): void },
  ): Promise<CommissionResult>;
  /** What a crash left behind and adoption could not finish. */
  halfCommissioned(): readonly HalfCommissioned[];
  /** Forgets a half commissioned device after the person has reset it. NOT_FOUND for another id. */
  forget(id: string): void;
  /** Removes the whole node from the fabric; `isForced` forgets a device that does not answer. Answers the device ids that went. */
  decommission(device: DeviceId, options: AdminOptions & { readonly isForced: boolean }): Promise<readonly DeviceId[]>;
  /** Writes NodeLabel where the device has one, and the hub's own name. */
  rename(device: DeviceId, name: string, options: AdminOptions): Promise<Device>;
  /** Devices that seem to have been here before, and have not got their former ids back. */
  recognised(): readonly RecognisedDevice[];
  /** Gives a device that was recognised its former id, and name and area where it has none of its own. NOT_FOUND for any other device. */
  restore(device: DeviceId): Device;
  /** The area that the owner gives; null goes back to none. */
  setArea(device: DeviceId, area: string | null): Device;
  /** Blinks or beeps for `seconds`, 0 ends it (Application Clusters §1.2). NOT_SUPPORTED where nothing identifies. */
  identify(device: DeviceId, seconds: number, options: AdminOptions): Promise<void>;
  /** Time of one read of a small attribute over a session that stays open. */
  ping(device: DeviceId, options: AdminOptions): Promise<{ readonly roundTripMs: number }>;
  /** Reads everything again: structure, attributes, software version. */
  interview(device: DeviceId, options: AdminOptions): Promise<readonly Device[]>;
  /** Opens an enhanced commissioning window for `seconds` (180 to 900). */
  share(device: DeviceId, seconds: number, options: AdminOptions): Promise<ShareCode>;
  /** Ends the window of `share` before its time. */
  closeShare(device: DeviceId, options: AdminOptions): Promise<void>;
  /** All fabrics of the device, ours among them. */
  fabrics(device: DeviceId, options: AdminOptions): Promise<readonly FabricInfo[]>;
  /** Removes another controller's fabric. CONFLICT for our own, which only `decommission` removes; NOT_FOUND for an absent one. */
  removeFabric(device: DeviceId, fabricIndex: number, options: AdminOptions): Promise<void>;
  /** General, software, network diagnostics clusters as the device tells them. */
  diagnostics(device: DeviceId, options: AdminOptions): Promise<JsonObject>;
  /** Thread and Wi-Fi networks as all devices tell; those that do not answer are named with the reason. */
  topology(options: AdminOptions): Promise<NetworkTopology>;
  /** What the owner's folder of software images holds for the devices, and why images fit none. */
  updates(): Promise<UpdateList>;
  /**
   * Installs an image of the folder on the whole node and answers once it tells its new version; `file` names one, else the newest
   * that fits. CONFLICT for one that does not fit or is damaged; DEVICE_UNREACHABLE, TIMEOUT, OUTCOME_UNKNOWN say how far it came.
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
  /** One multicast frame to all members; Matter gives no acknowledgement. */
  invokeGroup(group: number, cluster: string, command: string, fields: JsonObject, options: AdminOptions): Promise<void>;

  /** Access control entries of our fabric on the device, in the JSON form of AccessControl.Acl. */
  accessControl(device: DeviceId, options: AdminOptions): Promise<readonly JsonObject[]>;
  /** Replaces them; refuses a list that would lock this hub out. */
  setAccessControl(device: DeviceId, entries: readonly JsonObject[], options: AdminOptions): Promise<void>;
  /** Entries of the endpoint's Binding cluster, in the JSON form of Binding.Binding. */
  bindings(device: DeviceId, endpoint: number, options: AdminOptions): Promise<readonly JsonObject[]>;
  /** Binds a client endpoint to devices, and grants the source access on each target. */
  bind(source: DeviceEndpoint, target: BoundEndpoint, options: AdminOptions): Promise<void>;
  /** Takes the binding away, and with the last one to a target the access that `bind` granted there. */
  unbind(source: DeviceEndpoint, target: BoundEndpoint, options: AdminOptions): Promise<void>;

  credentials(): readonly CredentialSet[];
  setWifi(name: string, ssid: string, password: string): void;
  /** Operational dataset as TLV hex (Thread 1.3 §8.10). */
  setThread(name: string, datasetHex: string): void;
  /** Takes the active dataset from an OpenThread Border Router's REST API. */
  importThread(name: string, routerUrl: string, options: AdminOptions): Promise<CredentialSet>;
  /** False when there was no set of this name. */
  removeCredentials(name: string): boolean;
}

/** What runs on a device and in what form people know it. */
export interface SoftwareVersion {
  /** Greater is newer (Core §11.1.5.10). */
  readonly number: number;
  /** As the manufacturer writes it; empty when not told. */
  readonly text: string;
}

/** An image in the owner's folder that a device could install. */
export interface UpdateOffer {
  readonly device: DeviceId;
  readonly name: string;
  readonly from: SoftwareVersion;
  readonly to: SoftwareVersion;
  /** Name of the file in the folder. */
  readonly file: string;
  readonly sizeBytes: number;
  /** Web page of the manufacturer, as the image says; the hub does not open it. */
  readonly notesUrl?: string;
}

/** An image that no device can install now, and why. */
export interface UnfitImage {
  readonly file: string;
  readonly reason: string;
}

/** What the folder of images holds for the devices of this home. */
export interface UpdateList {
  readonly folder: string;
  readonly offers: readonly UpdateOffer[];
  readonly unfit: readonly UnfitImage[];
}

/** Steps in the order in which a device goes through them. */
export type UpdateStep = 'querying' | 'downloading' | 'applying' | 'done';

/** How far an update is. */
export interface UpdateProgress {
  readonly step: UpdateStep;
  /** 0 to 1 of the whole. */
  readonly fraction: number;
  readonly note: string;
}

/** An update as the device itself confirmed it. */
export interface UpdateResult {
  readonly device: DeviceId;
  readonly file: string;
  readonly from: SoftwareVersion;
  readonly to: SoftwareVersion;
}

/** How a node reaches the hub. */
export type NetworkKind = 'thread' | 'wifi' | 'ethernet' | 'unknown';

/** One radio of the home, as a device of ours or a neighbour of one tells. */
export interface TopologyNode {
  /** The device's id, or `thread:<EUI-64 in hex>` for one that is not ours, such as a border router. */
  readonly id: string;
  /** Absent for one that is not ours. */
  readonly device?: DeviceId;
  readonly name: string;
  readonly kind: NetworkKind;
  /** Of the node in its Thread network, such as `Router` or `SleepyEndDevice` (Core §11.14.5.3). */
  readonly role?: string;
  /** Name of the Thread network, or BSSID of the Wi-Fi access point. */
  readonly network?: string;
  readonly channel?: number;
  /** Of Wi-Fi, in dBm. */
  readonly rssi?: number;
  readonly reachability?: Reachability;
  /** Why it did not tell more. */
  readonly problem?: string;
}

/** A link over the air, as the node at `from` hears the one at `to`. */
export interface TopologyLink {
  readonly from: string;
  readonly to: string;
  /** Mean of what was received, in dBm. */
  readonly rssi?: number;
  /** Link quality, 0 (none) to 3 (Thread 1.3 §4.10.1); of a neighbour's frames 0 to 255. */
  readonly lqi?: number;
  /** The node at `to` is a child of the one at `from`. */
  readonly isChild: boolean;
}

/** Who hears whom. */
export interface NetworkTopology {
  readonly nodes: readonly TopologyNode[];
  readonly links: readonly TopologyLink[];
}
