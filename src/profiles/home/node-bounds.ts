import { type Effect, maxRisk, type Risk } from '../../core/auth/principal.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { CommandPath } from '../../core/devices/device-model.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { DeviceBounds, ServedCluster } from '../../tools/builtin/hub-tool.ts';
import type { CompiledDevice, CompiledDevices, DeviceTool } from '../compile/compiled-device.ts';
import { outcomeOf, UNKNOWN_OUTCOME, valueNames } from '../compile/step-outcome.ts';
import { typesAndFamilies } from './device-groups.ts';

const SERVED_BY = { capability: 'profile', generic: 'data_model', administrative: 'administration', nothing: 'none' } as const;

/** Tells which devices belong to a Matter node, which device owns an endpoint, and which risks and outcomes commands have. */
export class NodeBounds implements DeviceBounds {
  readonly #directory: Pick<DeviceDirectory, 'list' | 'get' | 'describe'>;
  readonly #compiled: Pick<CompiledDevices, 'get'>;

  constructor(directory: Pick<DeviceDirectory, 'list' | 'get' | 'describe'>, compiled: Pick<CompiledDevices, 'get'>) {
    this.#directory = directory;
    this.#compiled = compiled;
  }

  ownerOf(device: DeviceId, endpoint: number): DeviceId | undefined {
    const hasIt = (id: DeviceId) => this.#directory.describe(id)?.endpoints.some((one) => one.endpoint === endpoint) ?? false;
    return hasIt(device) ? device : this.nodeOf(device).find(hasIt);
  }

  nodeOf(device: DeviceId): readonly DeviceId[] {
    const nodeId = this.#directory.get(device)?.nodeId;
    const others = this.#directory.list().filter((other) => other.nodeId === nodeId && other.id !== device);
    return [device, ...others.map(({ id }) => id)];
  }

  wholeOf(device: DeviceId): DeviceId {
    const parent = this.#directory.get(device)?.parent;
    return parent === undefined ? device : this.wholeOf(parent);
  }

  isGuarded(device: DeviceId): boolean {
    const families = typesAndFamilies(this.#directory.get(device)?.deviceTypes ?? []);
    const tools = this.#compiled.get(device)?.tools;
    return !tools || families.has('lock') || families.has('valve') || tools.some(({ risk }) => risk === 'dangerous');
  }

  isOfKind(device: DeviceId, other: DeviceId): boolean {
    const [one, another] = [device, other].map((id) => typesAndFamilies(this.#directory.get(id)?.deviceTypes ?? []));
    return one !== undefined && another !== undefined && !one.isDisjointFrom(another);
  }

  servedClusters(device: DeviceId): readonly ServedCluster[] {
    return (this.#compiled.get(device)?.coverage ?? []).map(({ endpoint, cluster, by }) => ({
      endpoint,
      cluster,
      served_by: SERVED_BY[by],
    }));
  }

  /** Returns the highest risk of the tools that act on an endpoint. A device that is not compiled is dangerous: it may do anything. */
  riskOn(device: DeviceId, endpoint: number): Risk {
    const compiled = this.#compiled.get(device);
    if (!compiled) return 'dangerous';
    return maxRisk(...actingTools(compiled, endpoint).map(({ risk }) => risk));
  }

  riskOfCommand({ device, endpoint, cluster, command }: CommandPath): Risk {
    const compiled = this.#compiled.get(device);
    if (!compiled) return 'dangerous';
    const tools = actingTools(compiled, endpoint).filter((tool) => tool.cluster === cluster && tool.elements.includes(command));
    return maxRisk(...tools.map(({ risk }) => risk));
  }

  outcomeOf({ device, ...at }: CommandPath, fields: JsonObject): Pick<Effect, 'values' | 'unforeseen'> {
    const compiled = this.#compiled.get(device);
    return compiled ? outcomeOf({ kind: 'invoke', ...at, fields }, compiled) : UNKNOWN_OUTCOME;
  }

  valuesOn(device: DeviceId, endpoint: number, cluster?: string): readonly string[] {
    const compiled = this.#compiled.get(device);
    if (!compiled) return UNKNOWN_OUTCOME.unforeseen;
    return valueNames(compiled.values, { endpoint, ...(cluster !== undefined && { cluster }) });
  }
}

function actingTools({ tools }: CompiledDevice, endpoint: number): readonly DeviceTool[] {
  return tools.filter((tool) => tool.endpoint === endpoint && tool.kind === 'act');
}
