import { canonicalJson } from '../../codec/canonical-json.ts';
import { sha256Hex } from '../../codec/hashes.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { announcedType } from '../../core/devices/device-names.ts';
import type { Json } from '../../core/json.ts';
import type { CapabilityConstraints } from '../../core/mesh-view.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import type { ToolRegistry } from './tool-registry.ts';

/** A resource of a hub that a tool can require, such as `gpu` or `light_control`. */
export interface Capability {
  readonly type: string;
  /** Returns a description for people. `deviceCount` is the number of devices that the reader may see. */
  readonly description: (deviceCount: number) => string;
  /** True if the hub lists its devices with this capability. */
  readonly hasDevices?: boolean;
  /** Limits on every call of a tool that requires the capability. */
  readonly constraints?: CapabilityConstraints;
}

/** A capability with the tools that require it, as hubs announce it. */
export interface CapabilityView {
  readonly type: string;
  readonly description: string;
  readonly constraints?: CapabilityConstraints;
  readonly tools: readonly { readonly name: string; readonly description: string; readonly parameters_hash: string }[];
  readonly devices?: readonly { readonly id: string; readonly name: string; readonly type: string; readonly reachable: boolean }[];
}

/** Holds the capabilities of this hub. */
export class CapabilityCatalogue {
  readonly #registry: ToolRegistry;
  readonly #capabilities = new Map<string, Capability>();

  constructor(registry: ToolRegistry) {
    this.#registry = registry;
  }

  add(capability: Capability): void {
    this.#capabilities.set(capability.type, capability);
  }

  types(): readonly string[] {
    return [...this.#capabilities.keys()];
  }

  /** Returns a map from the type of a capability to the limits on calls of the tools that require it. */
  constraints(): ReadonlyMap<string, CapabilityConstraints> {
    const all = [...this.#capabilities.values()];
    return new Map(all.flatMap(({ type, constraints }) => (constraints ? [[type, constraints]] : [])));
  }

  list(directory: DeviceDirectory, isVisible: (tool: RegisteredTool) => boolean): readonly CapabilityView[] {
    // The board's own devices belong to no capability.
    const devices = directory.list().filter(({ kind }) => kind !== 'board');
    return [...this.#capabilities.values()].map(({ type, description, hasDevices, constraints }) => ({
      type,
      description: description(devices.length),
      ...(constraints && { constraints }),
      tools: this.#registry.listByCapability(type).filter(isVisible).map(toolSummary),
      ...(hasDevices && {
        devices: devices.map(({ id, name, deviceTypes, reachability }) => ({
          id,
          name,
          type: announcedType(deviceTypes[0]),
          reachable: reachability === 'reachable',
        })),
      }),
    }));
  }
}

function toolSummary({ definition }: RegisteredTool) {
  const { namespace, name, description, parameters } = definition;
  return { name: `${namespace}:${name}`, description, parameters_hash: `sha256:${sha256Hex(canonicalJson(parameters as Json))}` };
}
