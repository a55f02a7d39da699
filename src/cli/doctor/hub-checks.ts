import { toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { objectsIn } from '../hub/json-list.ts';
import { meshFinding } from '../mesh-facts.ts';
import type { CheckResult } from './check-result.ts';
import { guardedCheck } from './guarded-check.ts';
import { schemaChecks } from './tool-checks.ts';

type Finding = Omit<CheckResult, 'check'>;

const PAGE = 1_000;

/** Whether a hub answers, and how it says it is. */
export async function hubCheck(hub: HubClient): Promise<CheckResult> {
  const check = 'hub';
  try {
    const { status, problems, node_id: id, version } = await hub.health();
    if (status === 'ok') return { check, state: 'ok', found: `${id} at ${hub.url}, version ${version}` };
    const found = `${status}: ${Array.isArray(problems) ? problems.join('; ') : ''}`;
    return { check, state: 'warning', found, advice: 'its log says more: journalctl -u atmosphere-edge' };
  } catch (thrown) {
    const advice = 'start one: atmo serve, or systemctl start atmosphere-edge';
    return { check, state: 'failed', found: toAtmoError(thrown).message, advice };
  }
}

/** The devices and tools of the home, its agents, and the other hubs. */
export function homeChecks(hub: HubClient): Promise<readonly CheckResult[]> {
  return Promise.all([
    guardedCheck('token is accepted', async () => acceptedFinding(hub)),
    guardedCheck('devices', async () => devicesFinding(await hub.get('/api/v1/devices'))),
    guardedCheck('half commissioned devices', async () => halfCommissionedFinding(await hub.call('hub:half_commissioned', {}))),
    guardedCheck('tool schemas', async () => schemasFinding(await hub.get('/api/v1/tools', { limit: PAGE }))),
    guardedCheck('agents', async () => agentsFinding(await hub.call('list_agents', {}))),
    guardedCheck('mesh', async () => meshFinding(await hub.get('/api/v1/mesh'))),
  ]);
}

async function acceptedFinding(hub: HubClient): Promise<Finding> {
  await hub.get('/api/v1/tools', { limit: 1 });
  return { state: 'ok', found: `by ${hub.url}` };
}

function devicesFinding(answer: JsonObject): Finding {
  const devices = objectsIn(answer, 'devices');
  const away = devices.filter(({ reachability }) => reachability !== 'reachable').map(({ id }) => id);
  if (away.length === 0)
    return { state: 'ok', found: devices.length === 0 ? 'none yet: atmo commission CODE' : `${devices.length} reachable` };
  const advice = `see that they have power, then atmo device ping ${away[0]}`;
  return { state: 'warning', found: `${away.length} of ${devices.length} not reachable: ${away.join(', ')}`, advice };
}

function halfCommissionedFinding(answer: unknown): Finding {
  const devices = Array.isArray(answer) ? answer.filter(isJsonObject) : [];
  if (devices.length === 0) return { state: 'ok', found: 'none' };
  const advice = devices.map((device) => device.advice).join('; ');
  return { state: 'warning', found: devices.map((device) => device.id).join(', '), advice };
}

function schemasFinding(answer: JsonObject): Finding {
  const tools = objectsIn(answer, 'tools');
  const wrong = tools.filter((tool) => schemaChecks(tool).some(({ state }) => state !== 'ok')).map((tool) => tool.id);
  if (wrong.length === 0) return { state: 'ok', found: `${tools.length} tools` };
  return { state: 'warning', found: `${wrong.length} of ${tools.length} tools`, advice: `atmo doctor ${wrong[0]}` };
}

function agentsFinding(answer: unknown): Finding {
  const agents = isJsonObject(answer) ? objectsIn(answer, 'agents') : [];
  const failing = agents.filter(({ last_error: error, status }) => isJsonObject(error) || status === 'failed');
  if (failing.length === 0) return { state: 'ok', found: `${agents.length} in all` };
  const [first] = failing;
  const reason = isJsonObject(first?.last_error) ? `${first.last_error.code}: ${first.last_error.message}` : String(first?.reason ?? '');
  const names = failing.map(({ agent_id: id }) => id).join(', ');
  return {
    state: 'warning',
    found: `${names} failed last: ${reason}`,
    advice: 'atmo agents lists them; atmo audit tail --agent ID tells what they did',
  };
}
