import type { JsonObject } from '../../core/json.ts';
import type { Command } from '../command.ts';
import { objectsIn } from '../hub/json-list.ts';
import { meshIfAllowed, meshText, unreachableHubs } from '../mesh-facts.ts';
import { ageText, textPairs } from '../terminal/text-table.ts';

export const status: Command = {
  name: 'status',
  summary: 'how the hub is and what it has',
  examples: ['status', 'status --json'],
  async run({ hub, output }) {
    const health = await hub.health();
    const [devices, tools, sensors, mesh] = await Promise.all([
      hub.get('/api/v1/devices'),
      hub.get('/api/v1/tools', { limit: 1 }),
      hub.get('/api/v1/sensors'),
      meshIfAllowed(hub),
    ]);
    const list = objectsIn(devices, 'devices');
    const away = list.filter((device) => device.reachability !== 'reachable').map((device) => device.id);
    const summary = {
      ...health,
      url: hub.url,
      devices: list.length,
      unreachable: away,
      tools: tools.total,
      sensors: objectsIn(sensors, 'sensors').length,
      ...(mesh && { mesh: meshSummary(mesh) }),
    };
    output.answer(summary, () =>
      textPairs({
        hub: `${health.node_id} at ${hub.url}`,
        status: health.status,
        problems: Array.isArray(health.problems) ? health.problems.join('; ') : '',
        version: health.version,
        up: ageText(health.uptime_ms),
        devices: away.length === 0 ? list.length : `${list.length} (not reachable: ${away.join(', ')})`,
        tools: tools.total,
        sensors: summary.sensors,
        mesh: mesh ? meshText(mesh) : '',
      }),
    );
    return undefined;
  },
};

function meshSummary(mesh: JsonObject): JsonObject {
  const { mesh_id: id = null, state = null } = mesh;
  return { id, state, peers: objectsIn(mesh, 'peers').length, unreachable: [...unreachableHubs(mesh)] };
}
