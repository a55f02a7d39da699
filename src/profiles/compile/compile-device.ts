import type { Device, DeviceDescription, EndpointDescription } from '../../core/devices/device-model.ts';
import type { Json } from '../../core/json.ts';
import { isAdministrative } from '../clusters/administrative-clusters.ts';
import { ClusterView, type LiveValues, NO_LIVE_VALUES } from '../clusters/cluster-view.ts';
import { settledRisks } from '../clusters/element-risk.ts';
import { outcomeOf } from '../device-tools/step-outcome.ts';
import type { Capability } from '../files/capability-file.ts';
import type { DeviceProfile } from '../files/device-file.ts';
import type { ProfileSet } from '../files/profile-set.ts';
import { snake, words } from '../words.ts';
import { compileCapability } from './compile-capability.ts';
import type { CompiledValue } from './compile-value.ts';
import type { CompiledDevice, Coverage, DeviceEventRule, DeviceReading, DeviceTool } from './compiled-device.ts';
import { genericTools } from './generic-tools.ts';
import type { ToolBlueprint } from './tool-blueprint.ts';

interface Part {
  readonly coverage: Coverage;
  readonly tools: readonly ToolBlueprint[];
  readonly values: readonly CompiledValue[];
  readonly capability?: Capability;
}

interface CompiledEndpoint {
  readonly parts: readonly Part[];
  readonly noun: string;
}

/** Tools and readings of a device: product file, then capability files, then the generic rule. The same input gives the same names. */
export function compileDevice(description: DeviceDescription, profiles: ProfileSet, live: LiveValues = NO_LIVE_VALUES): CompiledDevice {
  const dependsOn = new Set<string>();
  const watched: LiveValues = (endpoint, cluster, attribute): Json | undefined => {
    dependsOn.add(`${endpoint}/${cluster}/${attribute}`);
    return live(endpoint, cluster, attribute);
  };
  const { device } = description;
  const endpoints = description.endpoints.map((endpoint) => compileEndpoint(endpoint, { device, profiles, live: watched }));
  const parts = endpoints.flatMap((endpoint) => endpoint.parts);
  const tools = endpoints.flatMap(({ parts: own, noun }) => settledRisks(withUniqueActions(own)).map((tool) => ({ ...tool, noun })));
  const values = valuesOf(parts);
  return {
    device,
    noun: nounOf(description, profiles, endpoints),
    tools: withEndpointSuffix(tools),
    values,
    readings: readingsOf(parts),
    events: parts.flatMap(eventsOf),
    coverage: parts.map((part) => part.coverage),
    dependsOn: new Set(dependsOn),
    outcomeOf: (step) => outcomeOf(step, { tools, values, live }),
  };
}

interface EndpointContext {
  readonly device: Device;
  readonly profiles: ProfileSet;
  readonly live: LiveValues;
}

function compileEndpoint(endpoint: EndpointDescription, context: EndpointContext): CompiledEndpoint {
  const { device, profiles } = context;
  const files = profiles.match({
    vendorId: device.vendor.id,
    productId: device.product.id,
    deviceTypes: endpoint.deviceTypes.map((type) => type.name),
  });
  const views = endpoint.clusters.map((cluster) => new ClusterView(endpoint.endpoint, cluster, context.live));
  const named = files.flatMap((file) => file.capabilities.flatMap((id) => profiles.capability(id) ?? []));
  // The files' order is the order of the tools; what no file names follows in the device's own order.
  const order = [...named.map((capability) => capability.cluster), ...views.map((view) => view.name)];
  const ordered = views.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  const parts = ordered.map((view) => compilePart(view, views, capabilityFor(view.name, named, profiles)));
  const noun = files[0]?.noun ?? words(endpoint.deviceTypes[0]?.name ?? 'device');
  return { parts: parts.map((part) => adjusted(part, files)), noun };
}

function capabilityFor(cluster: string, named: readonly Capability[], profiles: ProfileSet): Capability | undefined {
  return named.find((capability) => capability.cluster === cluster) ?? profiles.usualCapability(cluster);
}

function compilePart(view: ClusterView, siblings: readonly ClusterView[], capability: Capability | undefined): Part {
  const at = { endpoint: view.endpoint, cluster: view.name };
  if (isAdministrative(view.name)) return { coverage: { ...at, by: 'administrative' }, tools: [], values: [] };
  if (capability) {
    const compiled = compileCapability(capability, view, siblings);
    if (compiled.tools.length > 0 || compiled.values.length > 0) {
      return { ...compiled, capability, coverage: { ...at, by: 'capability', capability: capability.id } };
    }
  }
  const tools = genericTools(view.endpoint, view.description);
  return { coverage: { ...at, by: tools.length > 0 ? 'generic' : 'nothing' }, tools, values: [] };
}

/** The part with the device files' changes; the most specific file wins. */
function adjusted(part: Part, files: readonly DeviceProfile[]): Part {
  const without = new Set(files.flatMap((file) => file.without ?? []));
  const tools = part.tools
    .filter((tool) => !without.has(tool.action))
    .map((tool) => ({ ...tool, ...files.find((file) => file.overrides?.[tool.action])?.overrides?.[tool.action] }));
  return { ...part, tools };
}

/** Two clusters of one endpoint may offer the same action; the later one is named after its capability. */
function withUniqueActions(parts: readonly Part[]): readonly ToolBlueprint[] {
  const taken = new Set<string>();
  return parts.flatMap((part) =>
    part.tools.map((tool) => {
      const isFree = !taken.has(tool.action);
      const action = isFree ? tool.action : `${snake(tool.capability ?? tool.cluster)}_${tool.action}`;
      taken.add(action);
      const { alias, ...rest } = tool;
      return { ...rest, action, ...(alias !== undefined && isFree && { alias }) };
    }),
  );
}

/** Where several endpoints offer an action, all of them say which endpoint they mean. */
function withEndpointSuffix(tools: readonly DeviceTool[]): readonly DeviceTool[] {
  const counts = Map.groupBy(tools, (tool) => tool.action);
  return tools.map((tool) => {
    if (counts.get(tool.action)?.length === 1) return tool;
    const alias = tool.alias === undefined ? {} : { alias: `${tool.alias}_${tool.endpoint}` };
    return { ...tool, action: `${tool.action}_${tool.endpoint}`, ...alias };
  });
}

/** Clusters that no profile knows have no values but those of their tools. */
function valuesOf(parts: readonly Part[]): readonly CompiledValue[] {
  return [...new Set(parts.flatMap((part) => [...part.values, ...part.tools.flatMap((tool) => tool.values)]))];
}

function readingsOf(parts: readonly Part[]): readonly DeviceReading[] {
  const values = parts.flatMap((part) =>
    part.values.flatMap((value) => (value.kind === undefined ? [] : [{ ...value, kind: value.kind, part }])),
  );
  const byEndpoint = new Set<string>();
  const named = values.map(({ part, ...value }) => {
    const isFree = !byEndpoint.has(`${value.endpoint}/${value.name}`);
    const name = isFree ? value.name : `${snake(part.capability?.id ?? part.coverage.cluster)}_${value.name}`;
    byEndpoint.add(`${value.endpoint}/${name}`);
    return { ...value, name };
  });
  const counts = Map.groupBy(named, (value) => value.name);
  return named.map((value) => ({ ...value, path: counts.get(value.name)?.length === 1 ? value.name : `${value.name}/${value.endpoint}` }));
}

function eventsOf(part: Part): readonly DeviceEventRule[] {
  const { endpoint, cluster } = part.coverage;
  return Object.entries(part.capability?.events ?? {}).map(([event, entry]) => ({ ...entry, endpoint, cluster, event }));
}

function nounOf(description: DeviceDescription, profiles: ProfileSet, endpoints: readonly CompiledEndpoint[]): string {
  const { device } = description;
  const [leading] = device.deviceTypes;
  const subject = { vendorId: device.vendor.id, productId: device.product.id, deviceTypes: leading === undefined ? [] : [leading] };
  return profiles.nounFor(subject) ?? endpoints[0]?.noun ?? 'device';
}
