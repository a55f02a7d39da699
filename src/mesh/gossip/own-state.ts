import {
  type AnnouncedCapability,
  type AnnouncedDevice,
  type AnnouncedTool,
  type HubState,
  inCanonicalOrder,
  MAX_ADDRESSES,
  MAX_CAPABILITIES,
  MAX_DEVICES,
  MAX_LINKS,
  MAX_SHOWN_BYTES,
  MAX_TOOLS,
  OFFLINE,
  PROTOCOL_FEATURES,
  RELAYS,
  SITE_FEATURE,
} from '../../codec/messages/announced-state.ts';
import { MAX_BLOB_BYTES } from '../../codec/messages/sync.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { announcedType } from '../../core/devices/device-names.ts';
import { BRIDGED_COPY, BRIDGED_SERIAL_PREFIX } from '../../core/devices/matter-bridge.ts';
import { compareText } from '../../core/edit-distance.ts';
import type { HubId } from '../../core/ids.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { CapabilityView } from '../../tools/registry/capability-catalogue.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import type { Blob } from './blob-store.ts';
import { offeredDefinition } from './definition-store.ts';

/** State that this hub announces, and the definitions that other hubs will fetch. */
export interface OwnState {
  readonly state: HubState;
  readonly definitions: readonly Blob[];
}

/** Sources of this hub's state. */
export interface OwnStateSources {
  readonly registry: ToolRegistry;
  readonly devices: DeviceDirectory;
  /** Returns the capabilities of this hub. Each description is for people, for example `Matter/Thread bridge with 11 devices`. */
  readonly capabilities: () => readonly Pick<CapabilityView, 'type' | 'description' | 'constraints'>[];
  readonly isOnline: () => boolean;
  readonly links: () => readonly HubId[];
  /** Returns the addresses of this hub as `host:port`, best address first. */
  readonly addresses: () => readonly string[];
}

/** Configured part of this hub's state. */
export interface OwnStateOptions {
  readonly name: string;
  readonly version: string;
  readonly announcesDevices: boolean;
  /** Name of the hub's site; absent if the mesh has no sites. */
  readonly site?: string | undefined;
  /** If false, the hub forwards no requests of other hubs, and is not chosen as a border member of its site. */
  readonly isRelay?: boolean;
}

const MAX_TOOL_ID = 225;

/** Administrative tools that other hubs may call. A decision is valid because a person signed it, no matter which hub receives it. */
const OFFERED_ADMINISTRATION: ReadonlySet<string> = new Set(['hub:decide_approval@1.0.0', 'hub:list_approvers@1.0.0']);

/**
 * Returns the current state of this hub. Omits administrative tools except `OFFERED_ADMINISTRATION`, because every hub has them and
 * administers only itself. Includes the tools of an unreachable device, and marks the device as unreachable.
 */
export function ownState(
  { registry, devices, capabilities, isOnline, links, addresses }: OwnStateSources,
  options: OwnStateOptions,
): OwnState {
  const features = protocolFeatures(options, isOnline());
  const own = capabilities().slice(0, MAX_CAPABILITIES - features.length);
  const types = own.map(({ type }) => type);
  const offered = registry.all().filter(isOffered).slice(0, MAX_TOOLS);
  const state: HubState = {
    name: cut(options.name),
    version: options.version,
    addresses: addresses().slice(0, MAX_ADDRESSES),
    links: [...links()].sort(compareText).slice(0, MAX_LINKS),
    // Protocol features come last, so that they do not change the index by which a tool names its capability.
    capabilities: [
      ...own.map(({ type, description, constraints }) => ({ type, description: cut(description), ...(constraints && { constraints }) })),
      ...features,
    ],
    tools: inCanonicalOrder(offered.map((tool) => announcedTool(tool, types))),
    devices: options.announcesDevices ? announcedDevices(devices) : null,
  };
  return { state, definitions: offered.map((tool) => offeredDefinition(tool).blob) };
}

function protocolFeatures({ site, isRelay = true }: OwnStateOptions, isOnline: boolean): readonly AnnouncedCapability[] {
  const features = [...PROTOCOL_FEATURES, ...(isOnline ? [] : [OFFLINE])].map((type) => ({ type, description: '' }));
  if (site === undefined) return features;
  return [...features, { type: SITE_FEATURE, description: site, ...(!isRelay && { constraints: { [RELAYS]: false } }) }];
}

/** Returns whether other hubs may see the tool. */
function isOffered(tool: RegisteredTool): boolean {
  const { id, definition } = tool;
  if (tool.missingSetting?.() !== undefined) return false;
  const isAdministration = definition.requires.permissions.some((permission) => permission.startsWith('admin:'));
  if (isAdministration && !OFFERED_ADMINISTRATION.has(id)) return false;
  return id.length <= MAX_TOOL_ID && offeredDefinition(tool).blob.bytes.length <= MAX_BLOB_BYTES;
}

function announcedTool(tool: RegisteredTool, types: readonly string[]): AnnouncedTool {
  const { id, definition } = tool;
  const { hash } = offeredDefinition(tool);
  const capability = types.findIndex((type) => definition.requires.capabilities.includes(type));
  return { id, hash, ...(capability >= 0 && { capability }) };
}

function announcedDevices(devices: DeviceDirectory): readonly AnnouncedDevice[] {
  return devices
    .list()
    .map(announcedDevice)
    .sort((a, b) => compareText(a.id, b.id))
    .slice(0, MAX_DEVICES);
}

/** A thing that came through the bridge of a hub is announced with a type of its own. Otherwise, hubs could bridge it in a circle. */
function announcedDevice({ id, name, deviceTypes, reachability, serial = '' }: Device): AnnouncedDevice {
  const type = serial.startsWith(BRIDGED_SERIAL_PREFIX) ? BRIDGED_COPY : announcedType(deviceTypes[0]);
  return { id, name: cut(name), type, isReachable: reachability === 'reachable' };
}

/** Shortens a text to the maximum length. Cuts only between whole characters, so that the result is valid Unicode. */
function cut(text: string): string {
  return [...text.toWellFormed()]
    .slice(0, MAX_SHOWN_BYTES / 2)
    .join('')
    .slice(0, MAX_SHOWN_BYTES);
}
