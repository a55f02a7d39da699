import type { Effect } from '../../core/auth/principal.ts';
import type { DeviceAccess } from '../../core/devices/device-directory.ts';
import type { AttributeDescription, ClusterDescription, CommandDescription, DeviceDescription } from '../../core/devices/device-model.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { DeviceStep } from '../compile/compiled-device.ts';
import { elementRisk, exceedsLimits, needsAdministrator } from '../compile/element-risk.ts';
import { outcomeOf, UNKNOWN_OUTCOME } from '../compile/step-outcome.ts';
import { describesOtherDevices } from '../files/administrative-clusters.ts';
import type { ProfileSet } from '../files/profile-set.ts';
import { propertiesOf } from '../values/converter.ts';
import { spelledFields, spelledNames } from '../values/human-schema.ts';
import { type ClassToolPorts, deviceParameter, EXAMPLE_DEVICE } from './class-tool.ts';
import { notCompared, requireAcceptance, SETTLEMENT_PROPERTIES, type Settlement } from './run-device-tool.ts';

/** The second name of `control_matter_device`. Callers may write it with or without the namespace. */
export const MATTER_COMMAND_ALIAS = 'matter_command';
// Maximum number of attributes in a result, because large clusters have dozens.
const MAX_STATE_ATTRIBUTES = 16;

const SWITCH = { cluster: 'OnOff', attribute: 'OnOff' } as const;
const OPTIONS = 'Options';

/** Result for a command that the device acknowledged but ignored, because it was off. */
const IGNORED_WHILE_OFF: Settlement = notCompared(
  'the device is off, and while it is off it acknowledges this command and ignores it; turn it on first, or give optionsMask and optionsOverride {"executeIfOff": true}',
);

/** The services that the generic tool uses. */
export interface MatterToolPorts extends ClassToolPorts {
  readonly profiles: ProfileSet;
}

interface Request {
  readonly device_id: string;
  readonly endpoint?: number;
  readonly cluster: string;
  readonly command?: string;
  readonly params?: JsonObject;
  readonly attribute?: string;
  readonly value?: Json;
}

/**
 * Returns the tool `matter:control_matter_device`, which sends any command or reads or writes any attribute of a device. The caller gives
 * Matter names and raw units. The permission and risk depend on the command or attribute, so unlocking with this tool counts as unlocking.
 * If the device rejects the call, the result has `success: false` with the Matter status.
 */
export function controlMatterDevice(ports: MatterToolPorts): RegisteredTool {
  return defineTool(
    {
      name: 'control_matter_device',
      isDestructive: true,
      namespace: 'matter',
      title: 'Control a Matter device directly',
      description:
        "Sends any Matter command to a device, or reads or writes one of its attributes, by the names of the Matter specification and in raw Matter units. Prefer the device's own tools; this one reaches what they do not.",
      category: 'acting',
      capabilities: ['matter_bridge'],
      permissions: ['device:control:{device_id}'],
      hasSideEffects: true,
      isAsyncAllowed: true,
      timeoutMs: 15_000,
      preferLocal: true,
      hopLimit: 1,
      nodeAffinity: ['matter-bridge'],
      tags: ['matter', 'device', 'cluster', 'command', 'attribute'],
      parameters: {
        device_id: deviceParameter,
        endpoint: p
          .integer({ description: 'Endpoint; without it 1 if it has the cluster, else the first that has', minimum: 0, maximum: 65_534 })
          .optional(),
        cluster: p.string({ description: 'Cluster name such as OnOff, LevelControl or DoorLock', maxLength: 80 }),
        command: p.string({ description: 'Command name such as MoveToLevel', maxLength: 80 }).optional(),
        params: p
          .record({
            description: 'Fields of the command in raw Matter units. Example: {"level": 102, "transitionTime": 0}',
            secretMembers: true,
          })
          .optional(),
        attribute: p.string({ description: 'Instead of a command: attribute to read, or to write with value', maxLength: 80 }).optional(),
        value: p.json({ description: 'New raw value of the attribute' }).optional(),
      },
      returns: RETURNS,
      examples: [
        { description: 'Turn on', params: { device_id: EXAMPLE_DEVICE, cluster: 'OnOff', command: 'On' } },
        {
          description: 'Dim to 40 %',
          params: { device_id: EXAMPLE_DEVICE, cluster: 'LevelControl', command: 'MoveToLevel', params: { level: 102, transitionTime: 0 } },
        },
      ],
      canonicalize: (params, caller) => canonical(ports, params, ports.names.resolve(params.device_id, caller)),
      effects: (params) => [effectOf(ports, params)],
    },
    (params, context) => run(ports, params, context.signal),
  );
}

const RETURNS: JsonSchema = {
  type: 'object',
  required: ['success', 'device_state'],
  properties: {
    success: { type: 'boolean' },
    device_state: {
      type: 'object',
      description: "Attributes of the cluster as the device tells them, raw; a command's response under response",
      'x-secret-members': true,
    },
    error_code: { type: ['integer', 'null'], description: 'Matter status code of a refusal' },
    error: { type: ['string', 'null'] },
    ...SETTLEMENT_PROPERTIES,
  },
  additionalProperties: false,
};

/** Returns the call with all names spelled as in the device's description, fields checked and defaults filled in. */
function canonical(ports: MatterToolPorts, request: Request, device: DeviceId): JsonObject {
  const element = elementOf(ports, request, device);
  const at = { device_id: device, endpoint: element.endpoint, cluster: element.cluster.name };
  if (element.kind === 'command') {
    const { parameters } = element.command;
    const params = ports.validator.parameters(parameters, spelledFields(parameters, request.params ?? {}));
    return { ...at, command: element.command.name, params };
  }
  if (request.value === undefined) return { ...at, attribute: element.attribute.name };
  return { ...at, attribute: element.attribute.name, value: checkedValue(ports, element.attribute, request.value) };
}

function checkedValue(ports: MatterToolPorts, attribute: AttributeDescription, value: Json): Json {
  if (!attribute.writable) {
    throw new AtmoError('NOT_SUPPORTED', `The attribute ${attribute.name} is read-only`, { attribute: attribute.name });
  }
  const schema = { type: 'object', properties: { value: attribute.schema }, required: ['value'] };
  return ports.validator.parameters(schema, { value: spelledNames(attribute.schema, value) }).value ?? null;
}

function effectOf(ports: MatterToolPorts, request: Request): Effect {
  const device = parseDeviceId(request.device_id);
  const element = elementOf(ports, request, device);
  const isRead = element.kind === 'attribute' && request.value === undefined;
  const name = element.kind === 'command' ? element.command.name : element.attribute.name;
  const target = `${device}/${element.endpoint}/${element.cluster.name}/${name}`;
  if (isRead) {
    const needsAdmin = element.attribute.readPrivilege === 'administer' || describesOtherDevices(element.cluster.name);
    const area = needsAdmin ? 'admin:device' : 'device:read';
    return { permission: `${area}:${device}`, risk: 'none', target, device };
  }
  const compiled = ports.devices.get(device);
  const step = stepOf(element, request);
  const stated = ports.profiles.statedRisk(element.cluster.name, name);
  const risk = compiled && !exceedsLimits(step, compiled) ? elementRisk(element, compiled, stated) : 'dangerous';
  const permission = `${needsAdministrator(element) ? 'admin:device' : 'device:control'}:${device}`;
  return { permission, risk, target, device, ...(compiled ? outcomeOf(step, compiled) : UNKNOWN_OUTCOME) };
}

function stepOf(element: MatterElement, request: Request): DeviceStep {
  const at = { endpoint: element.endpoint, cluster: element.cluster.name };
  if (element.kind === 'command') return { kind: 'invoke', ...at, command: element.command.name, fields: request.params ?? {} };
  return { kind: 'write', ...at, attribute: element.attribute.name, value: request.value ?? null };
}

async function run(ports: MatterToolPorts, request: Request, signal: AbortSignal): Promise<Json> {
  const device = parseDeviceId(request.device_id);
  const element = elementOf(ports, request, device);
  try {
    const response = await touch(ports.access, { device, element, request }, signal);
    const { state, isIgnored } = await stateAfter(ports, { device, element, request }, signal);
    return { success: true, device_state: { ...state, ...(response && { response }) }, ...(isIgnored && IGNORED_WHILE_OFF) };
  } catch (error) {
    if (!(error instanceof AtmoError) || error.code !== 'CLUSTER_STATUS') throw error;
    const status = error.details.status;
    return { success: false, device_state: {}, error_code: typeof status === 'number' ? status : null, error: error.message };
  }
}

async function touch(access: DeviceAccess, { device, element, request }: Touched, signal: AbortSignal): Promise<JsonObject | null> {
  const at = { device, endpoint: element.endpoint, cluster: element.cluster.name };
  if (element.kind === 'command') {
    const response = await access.invoke({ ...at, command: element.command.name }, request.params ?? {}, { signal });
    requireAcceptance(`${element.cluster.name}.${element.command.name}`, response);
    return response;
  }
  if (request.value !== undefined) await access.write({ ...at, attribute: element.attribute.name }, request.value, { signal });
  return null;
}

interface Touched {
  readonly device: DeviceId;
  readonly element: MatterElement;
  readonly request: Request;
}

/** Reads the attributes that the call concerns, all in one interaction. Also returns whether the device ignored the command. */
async function stateAfter(
  ports: MatterToolPorts,
  { device, element, request }: Touched,
  signal: AbortSignal,
): Promise<{ readonly state: JsonObject; readonly isIgnored: boolean }> {
  const { cluster } = element;
  const names = element.kind === 'attribute' ? [element.attribute.name] : stateAttributes(ports, device, element);
  const executeIfOff = element.kind === 'command' ? executesIfOff(element.command, request.params ?? {}) : true;
  const paths = names.map((attribute) => ({ cluster: cluster.name, attribute }));
  const hasConditions =
    executeIfOff !== true && hasSwitch(ports, device, element) && cluster.attributes.some(({ name }) => name === OPTIONS);
  const conditions = hasConditions ? [SWITCH, { cluster: cluster.name, attribute: OPTIONS }] : [];
  if (paths.length + conditions.length === 0) return { state: {}, isIgnored: false };
  try {
    const readings = await ports.access.read(
      [...paths, ...conditions].map((path) => ({ device, endpoint: element.endpoint, ...path })),
      { signal },
    );
    const [isOn, options] = readings.slice(paths.length).map(({ value }) => value);
    const executes = executeIfOff ?? (isJsonObject(options) ? options.executeIfOff : undefined);
    return {
      state: Object.fromEntries(readings.slice(0, paths.length).map(({ path, value }) => [path.attribute, value])),
      isIgnored: isOn === false && executes === false,
    };
  } catch (error) {
    // A command that the device acknowledged is a success even if this read fails. For an attribute, a failed read is an error.
    if (element.kind === 'attribute') throw error;
    return { state: {}, isIgnored: false };
  }
}

/**
 * Returns whether a command also works while its endpoint is off (Application Clusters §1.6.6.9, §3.2.7.2). Returns true if the command
 * does not depend on the on/off state, and undefined if the device's own options decide.
 */
function executesIfOff({ name, parameters }: CommandDescription, { optionsMask, optionsOverride }: JsonObject): boolean | undefined {
  const bits = propertiesOf(parameters).optionsMask?.properties;
  if (!isJsonObject(bits) || !('executeIfOff' in bits) || name.endsWith('WithOnOff')) return true;
  if (!isJsonObject(optionsMask) || optionsMask.executeIfOff !== true) return undefined;
  return isJsonObject(optionsOverride) && optionsOverride.executeIfOff === true;
}

function hasSwitch(ports: MatterToolPorts, device: DeviceId, { endpoint }: MatterElement): boolean {
  const endpoints = ports.devices.describe(device)?.endpoints ?? [];
  return endpoints.some((one) => one.endpoint === endpoint && one.clusters.some(({ name }) => name === SWITCH.cluster));
}

function stateAttributes(ports: MatterToolPorts, device: DeviceId, element: MatterElement): readonly string[] {
  const tools = ports.devices.get(device)?.tools ?? [];
  const values = tools.flatMap((tool) => tool.values);
  const shown = values.filter((value) => value.endpoint === element.endpoint && value.cluster === element.cluster.name);
  const known = [...new Set(shown.map((value) => value.attribute))];
  return known.length > 0 ? known.slice(0, MAX_STATE_ATTRIBUTES) : readable(element.cluster).slice(0, MAX_STATE_ATTRIBUTES);
}

function readable(cluster: ClusterDescription): readonly string[] {
  return cluster.attributes.filter((attribute) => attribute.readPrivilege === 'view').map((attribute) => attribute.name);
}

/** A command or attribute of a device, found by its name. */
type MatterElement = { readonly endpoint: number; readonly cluster: ClusterDescription } & (
  | { readonly kind: 'command'; readonly command: CommandDescription }
  | { readonly kind: 'attribute'; readonly attribute: AttributeDescription }
);

/**
 * Finds the command or attribute of a request by name, in any letter case, with or without underscores. Without an endpoint, uses endpoint
 * 1 if it has the cluster, else the first endpoint that has it. Throws NOT_SUPPORTED with the existing names if the device lacks the
 * cluster, command or attribute. Throws VALIDATION_ERROR if the request has both a command and an attribute, or neither.
 */
function elementOf(ports: MatterToolPorts, query: Request, device: DeviceId): MatterElement {
  const description = ports.devices.describe(device);
  if (!description) throw new AtmoError('DEVICE_NOT_FOUND', `The device ${device} is gone; list the devices to see what there is`);
  if ((query.command === undefined) === (query.attribute === undefined)) {
    throw new AtmoError('VALIDATION_ERROR', 'Give either command or attribute. Example: {"cluster": "OnOff", "command": "On"}');
  }
  const { endpoint, cluster } = findCluster(description, query);
  const where = `${cluster.name} on endpoint ${endpoint} of ${description.device.id}`;
  if (query.command !== undefined) {
    return { kind: 'command', endpoint, cluster, command: named('command', query.command, { where, known: cluster.commands }) };
  }
  return {
    kind: 'attribute',
    endpoint,
    cluster,
    attribute: named('attribute', query.attribute ?? '', { where, known: cluster.attributes }),
  };
}

function findCluster(description: DeviceDescription, query: Request): { readonly endpoint: number; readonly cluster: ClusterDescription } {
  const all = description.endpoints.flatMap(({ endpoint, clusters }) => clusters.map((cluster) => ({ endpoint, cluster })));
  const here = query.endpoint === undefined ? all : all.filter(({ endpoint }) => endpoint === query.endpoint);
  const fits = here.filter(({ cluster }) => plain(cluster.name) === plain(query.cluster));
  const found = fits.find(({ endpoint }) => endpoint === 1) ?? fits[0];
  if (found) return found;
  const where = query.endpoint === undefined ? description.device.id : `endpoint ${query.endpoint} of ${description.device.id}`;
  return absent('cluster', query.cluster, { where, known: here.map(({ cluster }) => cluster) });
}

interface SearchedItems<Item> {
  readonly where: string;
  readonly known: readonly Item[];
}

function named<Item extends { readonly name: string }>(what: string, name: string, place: SearchedItems<Item>): Item {
  return place.known.find((item) => plain(item.name) === plain(name)) ?? absent(what, name, place);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll('_', '').replaceAll('-', '');
}

function absent(what: string, name: string, place: SearchedItems<{ readonly name: string }>): never {
  const known = [...new Set(place.known.map((item) => item.name))];
  const [near] = nearestTexts(name, known);
  const hint = near === undefined ? `it has ${known.slice(0, 20).join(', ') || 'none'}` : `did you mean ${near}?`;
  throw new AtmoError('NOT_SUPPORTED', `There is no ${what} ${JSON.stringify(name.slice(0, 80))} in ${place.where}; ${hint}`, {
    [`${what}s`]: known,
  });
}
