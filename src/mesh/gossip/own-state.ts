import {
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
} from '../../codec/messages/announced-state.ts';
import { MAX_BLOB_BYTES } from '../../codec/messages/blobs.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { announcedType } from '../../core/devices/device-names.ts';
import { compareText } from '../../core/edit-distance.ts';
import type { HubId } from '../../core/ids.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { CapabilityView } from '../../tools/registry/capability-catalogue.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import type { Blob } from './blob-store.ts';
import { offeredDefinition } from './definition-store.ts';

/** What this hub tells of itself, and the definitions that others will ask for. */
export interface OwnState {
  readonly state: HubState;
  readonly definitions: readonly Blob[];
}

/** Where the state comes from. */
export interface OwnStateSources {
  readonly registry: ToolRegistry;
  readonly devices: DeviceDirectory;
  /** With a description for people, such as `Matter/Thread bridge with 11 devices`. */
  readonly capabilities: () => readonly Pick<CapabilityView, 'type' | 'description' | 'constraints'>[];
  /** Whether it has a network. */
  readonly isOnline: () => boolean;
  /** Directly connected hubs. */
  readonly links: () => readonly HubId[];
  /** `host:port`, best first. */
  readonly addresses: () => readonly string[];
}

/** What the owner says about it. */
export interface OwnStateOptions {
  readonly name: string;
  /** Of the software. */
  readonly version: string;
  readonly announcesDevices: boolean;
}

const MAX_TOOL_ID = 225;

/** Administration that is done from other hubs: a person's word counts by its signature, wherever it is handed in. */
const OFFERED_ADMINISTRATION: ReadonlySet<string> = new Set(['hub:decide_approval@1.0.0', 'hub:list_approvers@1.0.0']);

/**
 * The state of this hub as it is now. Other tools of administration stay at home: every hub has them itself, and what they do
 * is nobody else's. A tool whose device is away is announced like any other; the device says that it is away.
 */
export function ownState(
  { registry, devices, capabilities, isOnline, links, addresses }: OwnStateSources,
  options: OwnStateOptions,
): OwnState {
  const features = [...PROTOCOL_FEATURES, ...(!isOnline() ? [OFFLINE] : [])];
  const own = capabilities().slice(0, MAX_CAPABILITIES - features.length);
  const types = own.map(({ type }) => type);
  const offered = registry.all().filter(isOffered).slice(0, MAX_TOOLS);
  const state: HubState = {
    name: cut(options.name),
    version: options.version,
    addresses: addresses().slice(0, MAX_ADDRESSES),
    links: [...links()].sort(compareText).slice(0, MAX_LINKS),
    // Behind the others: tools name theirs by their place in the list.
    capabilities: [
      ...own.map(({ type, description, constraints }) => ({ type, description: cut(description), ...(constraints && { constraints }) })),
      ...features.map((type) => ({ type, description: '' })),
    ],
    tools: inCanonicalOrder(offered.map((tool) => announcedTool(tool, types))),
    devices: options.announcesDevices ? announcedDevices(devices) : null,
  };
  return { state, definitions: offered.map((tool) => offeredDefinition(tool).blob) };
}

/** True for a tool that other hubs may know of. */
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

function announcedDevice({ id, name, deviceTypes, reachability }: Device): AnnouncedDevice {
  return { id, name: cut(name), type: announcedType(deviceTypes[0]), isReachable: reachability === 'reachable' };
}

/** Whole characters, so that what is left is still Unicode. */
function cut(text: string): string {
  return [...text.toWellFormed()]
    .slice(0, MAX_SHOWN_BYTES / 2)
    .join('')
    .slice(0, MAX_SHOWN_BYTES);
}
