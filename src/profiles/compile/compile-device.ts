import type { Device, DeviceDescription, EndpointDescription } from '../../core/devices/device-model.ts';
import { joinNames, readableName, readableNameWithVendor, readableWords, snakeCase } from '../../core/devices/matter-names.ts';
import { slug } from '../../core/ids.ts';
import { isAdministrative } from '../files/administrative-clusters.ts';
import type { Capability, DeviceProfile } from '../files/profile-format.ts';
import type { ProfileSet } from '../files/profile-set.ts';
import { ClusterView, type CompiledValue, type LiveValues, NO_LIVE_VALUES } from './cluster-view.ts';
import { compileCapability } from './compile-capability.ts';
import type { CompiledDevice, Coverage, DeviceEventRule, DeviceReading, DeviceTool, ToolBlueprint } from './compiled-device.ts';
import { settledRisks } from './element-risk.ts';
import { genericTools } from './generic-tools.ts';

/** Maximum length of an endpoint label in a tool name. A longer label would leave no space for the device's name. */
const MAX_PART = 16;

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

/**
 * Compiles the tools and values of a device. For each cluster, they come from the first of these sources that exists: the capability that a
 * device file names, the default capability of the cluster, the generic tools. The same input always gives the same names.
 */
export function compileDevice(description: DeviceDescription, profiles: ProfileSet, live: LiveValues = NO_LIVE_VALUES): CompiledDevice {
  const dependsOn = new Set<string>();
  const watched: LiveValues = (endpoint, cluster, attribute) => {
    dependsOn.add(`${endpoint}/${cluster}/${attribute}`);
    return live(endpoint, cluster, attribute);
  };
  const { device } = description;
  const endpoints = description.endpoints.map((endpoint) => compileEndpoint(endpoint, { device, profiles, live: watched }));
  const parts = endpoints.flatMap((endpoint) => endpoint.parts);
  const tools = endpoints.flatMap(({ parts: own, noun }) => settledRisks(withUniqueActions(own)).map((tool) => ({ ...tool, noun })));
  // A cluster without a profile has only the values that its tools return.
  const values = [...new Set(parts.flatMap((part) => [...part.values, ...part.tools.flatMap((tool) => tool.values)]))];
  return {
    device,
    noun: nounOf(description, profiles, endpoints),
    tools: withEndpointSuffix(tools, description.endpoints),
    values,
    readings: readingsOf(parts),
    events: parts.flatMap(eventsOf),
    coverage: parts.map((part) => part.coverage),
    // This is a copy, because later calls look up further attributes and would add them to the original set.
    dependsOn: new Set(dependsOn),
    live,
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
  const around = { live: context.live, neighbours: endpoint.clusters.map((cluster) => cluster.name) };
  const views = endpoint.clusters.map((cluster) => new ClusterView(endpoint.endpoint, cluster, around));
  const named = files.flatMap((file) => file.capabilities.flatMap((id) => profiles.capability(id) ?? []));
  // Clusters that the device files name come first, in that order. All other clusters follow in the device's own order.
  const order = [...named.map((capability) => capability.cluster), ...views.map((view) => view.name)];
  const ordered = views.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  const capabilityOf = (cluster: string) => named.find((one) => one.cluster === cluster) ?? profiles.usualCapability(cluster);
  const parts = ordered.map((view) => compilePart(view, views, capabilityOf(view.name)));
  return { parts: parts.map((part) => adjusted(part, files)), noun: endpointNoun(endpoint, files, parts) };
}

/**
 * Returns the noun for an endpoint, such as `light`. A device file for a utility type, such as a power source, gives the noun only if no
 * other file matches and the file's capabilities provide all acting tools. If there are other acting tools, the noun is `device`.
 */
function endpointNoun(endpoint: EndpointDescription, files: readonly DeviceProfile[], parts: readonly Part[]): string {
  const named = files.find((file) => !file.utility);
  if (named) return named.noun;
  const [utility] = files;
  const acting = parts.filter((part) => part.tools.some((tool) => tool.kind === 'act'));
  if (utility && acting.every((part) => utility.capabilities.includes(part.capability?.id ?? ''))) return utility.noun;
  const type = endpoint.deviceTypes[0]?.name ?? '';
  // A manufacturer's own device type has a number instead of a name.
  return utility || type === '' || /0x/i.test(type) ? 'device' : readableWords(type);
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

/** Applies the changes of the device files to a part. If several files change the same tool or title, the most specific file wins. */
function adjusted(part: Part, files: readonly DeviceProfile[]): Part {
  const without = new Set(files.flatMap((file) => file.without ?? []));
  const tools = part.tools
    .filter((tool) => !without.has(tool.action))
    .map((tool) => ({ ...tool, ...files.find((file) => file.overrides?.[tool.action])?.overrides?.[tool.action] }));
  const values = part.values.map((value) => {
    const title = files.find((file) => file.titles?.[value.name])?.titles?.[value.name];
    return title === undefined ? value : { ...value, title };
  });
  return { ...part, tools, values };
}

type NounTool = Omit<DeviceTool, 'plainAction' | 'numbered' | 'part'>;
type KeyedTool = ToolBlueprint & Pick<DeviceTool, 'key'>;

/** Makes the actions on an endpoint unique. If an action is taken, the later tool gets its capability or cluster as a prefix. */
function withUniqueActions(parts: readonly Part[]): readonly KeyedTool[] {
  const taken = new Set<string>();
  return parts.flatMap((part) =>
    part.tools.map((tool) => {
      const { alias, formerAction, ...rest } = tool;
      const isFree = !taken.has(tool.action);
      const former = isFree ? formerAction : `${snakeCase(tool.capability ?? tool.cluster)}_${formerAction ?? tool.action}`;
      const action = isFree ? tool.action : freeAction(tool, taken);
      taken.add(action);
      const key = `${tool.endpoint}/${tool.cluster}/${formerAction ?? tool.action}`;
      const isRenamed = former !== undefined && former !== action;
      return { ...rest, key, action, ...(isRenamed && { formerAction: former }), ...(alias !== undefined && isFree && { alias }) };
    }),
  );
}

/** Returns the action with its capability or cluster as a prefix. If this prefixed action is taken, the result also contains the vendor. */
function freeAction({ capability, cluster, action }: ToolBlueprint, taken: ReadonlySet<string>): string {
  const named = joinNames(readableName(capability ?? cluster), action);
  const ofMaker = action.replace(readableName(cluster), readableNameWithVendor(cluster));
  const whole = `${readableNameWithVendor(capability ?? cluster)}_${action}`;
  return [named, ofMaker].find((one) => !taken.has(one)) ?? whole;
}

/** Adds a suffix to each action that several endpoints have. The suffix is the endpoint's label if all labels differ, else its number. */
function withEndpointSuffix(tools: readonly NounTool[], endpoints: readonly EndpointDescription[]): readonly DeviceTool[] {
  const byAction = Map.groupBy(tools, (tool) => tool.action);
  return tools.map((tool) => {
    const plainAction = tool.action;
    const siblings = byAction.get(plainAction) ?? [];
    if (siblings.length <= 1) return { ...tool, plainAction };
    const among = siblings.flatMap((sibling) => endpoints.find(({ endpoint }) => endpoint === sibling.endpoint) ?? []);
    const part = partOf(tool.endpoint, among);
    const suffix = part === undefined ? String(tool.endpoint) : slug(part, '_');
    const alias = tool.alias === undefined ? {} : { alias: `${tool.alias}_${suffix}` };
    const numbered = `${plainAction}_${tool.endpoint}`;
    const former = tool.formerAction === undefined ? {} : { formerAction: `${tool.formerAction}_${tool.endpoint}` };
    const action = `${plainAction}_${suffix}`;
    return { ...tool, plainAction, action, numbered, ...alias, ...former, ...(part !== undefined && { part }) };
  });
}

/** Returns a label that only this endpoint has. Returns undefined if any endpoint of `among` has no short label of its own. */
function partOf(endpoint: number, among: readonly EndpointDescription[]): string | undefined {
  const named = among.map(({ endpoint: number, labels = [] }) => {
    const others = among
      .filter((other) => other.endpoint !== number)
      .flatMap((other) => (other.labels ?? []).map((label) => slug(label, '_')));
    return { number, label: labels.find((label) => isShortName(label) && !others.includes(slug(label, '_'))) };
  });
  if (named.some(({ label }) => label === undefined)) return undefined;
  return named.find(({ number }) => number === endpoint)?.label;
}

function isShortName(label: string): boolean {
  const { length } = slug(label, '_');
  return length > 0 && length <= MAX_PART;
}

function readingsOf(parts: readonly Part[]): readonly DeviceReading[] {
  const values = parts.flatMap((part) =>
    part.values.flatMap((value) => (value.kind === undefined ? [] : [{ ...value, kind: value.kind, part }])),
  );
  const taken = new Set<string>();
  const takenBefore = new Set<string>();
  const named = values.map(({ part, ...value }) => {
    const words = snakeCase(part.capability?.id ?? value.cluster);
    const at = (name: string) => `${value.endpoint}/${name}`;
    const formerName = takenBefore.has(at(value.name)) ? `${words}_${value.name}` : value.name;
    takenBefore.add(at(formerName));
    const isFree = !taken.has(at(value.name));
    const name = isFree ? value.name : freeReadingName(value, words, (one) => !taken.has(at(one)));
    taken.add(at(name));
    const key = `${value.endpoint}/${value.cluster}/${value.name}`;
    return { ...value, key, name, formerName, title: isFree ? value.title : titleOf(name) };
  });
  const [counts, countsBefore] = [Map.groupBy(named, ({ name }) => name), Map.groupBy(named, ({ formerName }) => formerName)];
  const pathOf = (name: string, endpoint: number, all: typeof counts) => (all.get(name)?.length === 1 ? name : `${name}/${endpoint}`);
  return named.map(({ formerName, ...value }) => ({
    ...value,
    path: pathOf(value.name, value.endpoint, counts),
    formerPath: pathOf(formerName, value.endpoint, countsBefore),
  }));
}

/** Returns a new name for a reading whose name is already used on the endpoint. Prefers a name in which no word occurs twice. */
function freeReadingName({ name, cluster }: CompiledValue, words: string, isFree: (name: string) => boolean): string {
  const own = readableName(cluster);
  const candidates = [joinNames(words, name), own, joinNames(own, name), `other_${name}`].filter(isFree);
  const [first] = candidates;
  return candidates.find((one) => new Set(one.split('_')).size === one.split('_').length) ?? first ?? `${words}_${own}_${name}`;
}

function titleOf(name: string): string {
  const text = name.replaceAll('_', ' ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function eventsOf(part: Part): readonly DeviceEventRule[] {
  const { endpoint, cluster } = part.coverage;
  return Object.entries(part.capability?.events ?? {}).map(([event, entry]) => ({ ...entry, endpoint, cluster, event }));
}

function nounOf(description: DeviceDescription, profiles: ProfileSet, endpoints: readonly CompiledEndpoint[]): string {
  const { device } = description;
  const subject = { vendorId: device.vendor.id, productId: device.product.id };
  const isUtility = (type: string) => profiles.match({ ...subject, deviceTypes: [type] })[0]?.utility === true;
  const leading = device.deviceTypes.find((type) => !isUtility(type));
  const own = leading === undefined ? undefined : profiles.nounFor({ ...subject, deviceTypes: [leading] });
  return own ?? endpoints[0]?.noun ?? 'device';
}
