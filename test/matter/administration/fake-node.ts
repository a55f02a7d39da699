import type { AttributePath, AttributeReading, CommandPath } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { DeviceId } from '../../../src/core/ids.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { type NodeAccess, NodeClusters } from '../../../src/matter/administration/node-clusters.ts';

type Answer = (fields: JsonObject) => JsonObject | null;

/** A node whose attributes are a table and whose commands are functions; it logs its calls. */
export class FakeNode implements NodeAccess {
  readonly attributes = new Map<string, Json>();
  readonly commands = new Map<string, Answer>();
  readonly log: string[] = [];
  readonly id: DeviceId = parseDeviceId('fake');
  readonly clusters = new NodeClusters(this, this.id, new AbortController().signal);

  async read(paths: readonly AttributePath[]): Promise<readonly AttributeReading[]> {
    return paths.map((path) => ({
      path,
      value: this.attributes.get(key(path.endpoint, path.cluster, path.attribute)) ?? null,
      atMs: 0,
      reachability: 'reachable',
    }));
  }

  readOfAllFabrics(paths: readonly AttributePath[]): Promise<readonly AttributeReading[]> {
    return this.read(paths);
  }

  async write(path: AttributePath, value: Json): Promise<void> {
    this.log.push(`write ${key(path.endpoint, path.cluster, path.attribute)}`);
    this.attributes.set(key(path.endpoint, path.cluster, path.attribute), value);
  }

  async invoke(path: CommandPath, fields: JsonObject): Promise<JsonObject | null> {
    this.log.push(`invoke ${key(path.endpoint, path.cluster, path.command)}`);
    return this.commands.get(key(path.endpoint, path.cluster, path.command))?.(fields) ?? null;
  }
}

const key = (endpoint: number, cluster: string, member: string): string => `${endpoint}/${cluster}/${member}`;
