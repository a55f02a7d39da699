import type { ServerNode } from '@matter/main/node';
import { ProtocolService } from '@matter/main/node';
import type { Json } from '../../src/core/json.ts';
import { toJson } from './raw-value.ts';

/** One command that reached the device, whoever sent it and whatever came of it. */
export interface CommandRecord {
  readonly endpoint: number;
  /** Name in the Matter specification, as `OnOff`. */
  readonly cluster: string;
  /** Name in matter.js, as `moveToLevel`. */
  readonly command: string;
  readonly fields: Json;
  /** Milliseconds since 1970 on the device's clock. */
  readonly timeMs: number;
}

/**
 * Records commands where the protocol hands them to the clusters: each invocation of an interaction counts once, also
 * when the cluster's own code calls further commands.
 */
export class CommandLog {
  readonly #records: CommandRecord[] = [];
  readonly #seen = new WeakSet<object>();

  get records(): readonly CommandRecord[] {
    return this.#records;
  }

  /** Takes up all clusters that the node has now; call again when endpoints were added. */
  watch(node: ServerNode): void {
    for (const endpoint of node.env.get(ProtocolService).protocol) {
      for (const cluster of endpoint) this.#watchCluster(endpoint.id, cluster);
    }
  }

  #watchCluster(endpoint: number, cluster: WatchedCluster): void {
    if (this.#seen.has(cluster)) return;
    this.#seen.add(cluster);
    for (const { id, name } of cluster.type.commands) {
      const invoke = cluster.commands[id];
      if (invoke === undefined) continue;
      const command = name.charAt(0).toLowerCase() + name.slice(1);
      cluster.commands[id] = (fields, session) => {
        this.#records.push({ endpoint, cluster: cluster.type.name, command, fields: toJson(fields), timeMs: Date.now() });
        return invoke(fields, session);
      };
    }
  }
}

interface WatchedCluster {
  readonly type: { readonly name: string; readonly commands: Iterable<{ readonly id: number; readonly name: string }> };
  readonly commands: Record<number, (fields: never, session: never) => unknown>;
}
