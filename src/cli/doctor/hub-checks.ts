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
export function homeChecks(hub: HubClient, nowMs: number): Promise<readonly CheckResult[]> {
  return Promise.all([
    guardedCheck('token is accepted', async () => acceptedFinding(hub)),
    guardedCheck('devices', async () => devicesFinding(await hub.get('/api/v1/devices'))),
    guardedCheck('half commissioned devices', () => halfCommissionedFinding(hub)),
    guardedCheck('tool schemas', async () => schemasFinding(await hub.get('/api/v1/tools', { limit: PAGE }))),
    guardedCheck('agents', async () => agentsFinding(await hub.call('list_agents', {}), nowMs)),
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

async function halfCommissionedFinding(hub: HubClient): Promise<Finding> {
  const answer = await ofMatter(hub, () => hub.call('hub:half_commissioned', {}));
  if (answer === MATTER_IS_OFF) return { state: 'ok', found: 'Matter is off (matter.enabled)' };
  const devices = Array.isArray(answer) ? answer.filter(isJsonObject) : [];
  if (devices.length === 0) return { state: 'ok', found: 'none' };
  const advice = devices.map((device) => device.advice).join('; ');
  return { state: 'warning', found: devices.map((device) => device.id).join(', '), advice };
}

const MATTER_IS_OFF = Symbol('Matter is off');

/** What a tool answers that comes with Matter: without it nobody has the tool, whatever the token. */
async function ofMatter(hub: HubClient, ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask();
  } catch (thrown) {
    if (toAtmoError(thrown).code !== 'TOOL_NOT_FOUND') throw thrown;
    const capabilities = objectsIn(await hub.get('/api/v1/capabilities'), 'capabilities');
    if (capabilities.some(({ type }) => type === 'matter_bridge')) throw thrown;
    return MATTER_IS_OFF;
  }
}

function schemasFinding(answer: JsonObject): Finding {
  const tools = objectsIn(answer, 'tools');
  const wrong = tools.filter((tool) => schemaChecks(tool).some(({ state }) => state !== 'ok')).map((tool) => tool.id);
  if (wrong.length === 0) return { state: 'ok', found: `${tools.length} tools` };
  return { state: 'warning', found: `${wrong.length} of ${tools.length} tools`, advice: `atmo doctor ${wrong[0]}` };
}

/** Who fails, who ends soon and who has ended by itself; whoever was killed is no business of anybody any more. */
function agentsFinding(answer: unknown, nowMs: number): Finding {
  const agents = isJsonObject(answer) ? objectsIn(answer, 'agents') : [];
  const living = agents.filter((agent) => isLiving(agent) && !hasExpired(agent, nowMs));
  const failing = living.filter(({ last_error: error, status }) => isJsonObject(error) || status === 'failing');
  const expired = agents.filter((agent) => hasExpired(agent, nowMs) && nowMs - msOf(agent.expires_at) < TOLD_AFTER_END_MS);
  const ending = living.filter((agent) => endsSoon(agent, nowMs));
  const problems = [
    ...(failing.length > 0 ? [`${idsOf(failing)} failed last: ${failureOf(failing[0])}`] : []),
    ...(expired.length > 0 ? [`${idsOf(expired)} has ended, its time is over`] : []),
    ...ending.map(({ agent_id: id, expires_at: at }) => `${id} ends at ${at}`),
  ];
  if (problems.length === 0) return { state: 'ok', found: `${living.length} at work` };
  const renew = expired.length + ending.length > 0 ? ['atmo agent spawn NAME --ttl TIME makes one anew'] : [];
  const look = failing.length > 0 ? ['atmo agents lists them; atmo audit tail --agent ID tells what they did'] : [];
  return { state: 'warning', found: problems.join('; '), advice: [...look, ...renew].join('; ') };
}

const DAY_MS = 86_400_000;
/** An agent that ended by itself is told of for so long. */
const TOLD_AFTER_END_MS = 30 * DAY_MS;
const SOON_MS = 3 * DAY_MS;

function isLiving({ status }: JsonObject): boolean {
  return status !== 'killed' && status !== 'expired';
}

function hasExpired({ status, expires_at: at }: JsonObject, nowMs: number): boolean {
  return status === 'expired' || (status !== 'killed' && msOf(at) <= nowMs);
}

/** In three days; of an agent that lives shorter, in the last quarter of its time. */
function endsSoon({ created_at: from, expires_at: at }: JsonObject, nowMs: number): boolean {
  const lifeMs = msOf(at) - msOf(from);
  return msOf(at) - nowMs <= (Number.isNaN(lifeMs) ? SOON_MS : Math.min(SOON_MS, lifeMs / 4));
}

function msOf(time: unknown): number {
  return typeof time === 'string' ? Date.parse(time) : Number.NaN;
}

function idsOf(agents: readonly JsonObject[]): string {
  return agents.map(({ agent_id: id }) => id).join(', ');
}

function failureOf(agent: JsonObject | undefined): string {
  return isJsonObject(agent?.last_error) ? `${agent.last_error.code}: ${agent.last_error.message}` : String(agent?.reason ?? '');
}
