import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { packageVersion } from '../../core/package-version.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { meshFinding } from '../hub/mesh-status.ts';
import { type CheckResult, guardedCheck } from './check-result.ts';
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

type CheckOutcome = Omit<CheckResult, 'check'>;

const MS_PER_DAY = 86_400_000;
/** The hub renews its own certificate long before: one that ends so soon was not renewed. */
const ENDING_DAYS = 14;
const PROTOCOL = '2026-07-28';
const ASSET = /(?:src|href)="(\/assets\/[^"]+)"/g;

/** What people and agents reach the hub by: TLS, the page, MCP. */
export function endpointChecks(hub: HubClient, nowMs: number): Promise<readonly CheckResult[]> {
  return Promise.all([
    guardedCheck('TLS certificate', async () => certificateFinding(await hub.get('/api/v1/tls'), nowMs)),
    guardedCheck('monitor page', () => pageFinding(hub)),
    guardedCheck('MCP', () => mcpFinding(hub)),
  ]);
}

function certificateFinding({ enabled, url, certificate_ends_at: endsAt }: JsonObject, nowMs: number): CheckOutcome {
  if (enabled !== true) return { state: 'ok', found: 'none needed: the hub answers to this machine alone' };
  const days = Math.floor((Date.parse(String(endsAt)) - nowMs) / MS_PER_DAY);
  const found = `${url}, until ${endsAt}`;
  if (days >= ENDING_DAYS) return { state: 'ok', found };
  const advice = 'the hub renews its own: see its log and its clock; one that you brought (http.tls.certificate_file) you renew';
  return { state: days < 0 ? 'failed' : 'warning', found, advice };
}

async function pageFinding(hub: HubClient): Promise<CheckOutcome> {
  const advice = 'build it with "npm run build" in the checkout, then start the hub anew';
  const page = await bodyOf(hub, '/');
  if (page === undefined) return { state: 'warning', found: 'this hub has none', advice };
  const assets = [...page.matchAll(ASSET)].map(([, path = '']) => path);
  const answers = await Promise.all(assets.map(async (path) => ({ path, body: await bodyOf(hub, path) })));
  const missing = answers.filter(({ body }) => body === undefined).map(({ path }) => path);
  if (missing.length === 0) return { state: 'ok', found: `${hub.url}/ with ${assets.length} files; atmo monitor signs you in` };
  return { state: 'failed', found: `${missing.join(', ')} cannot be had`, advice };
}

/** Undefined where there is no such file. */
async function bodyOf(hub: HubClient, path: string): Promise<string | undefined> {
  try {
    return await (await hub.stream(path, {}, { accept: '*/*' })).text();
  } catch (error) {
    if (error instanceof AtmoError && (error.code === 'NOT_FOUND' || error.code === 'NOT_CONFIGURED')) return undefined;
    throw error;
  }
}

/** Asks as a client of the protocol would. */
async function mcpFinding(hub: HubClient): Promise<CheckOutcome> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': PROTOCOL,
    'io.modelcontextprotocol/clientInfo': { name: 'atmo doctor', version: packageVersion() },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } };
  const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': PROTOCOL, 'mcp-method': 'tools/list' };
  const { result, error } = await hub.post('/mcp', body, headers);
  const tools = isJsonObject(result) && Array.isArray(result.tools) ? result.tools.length : 0;
  if (tools > 0) return { state: 'ok', found: `${hub.url}/mcp with ${tools} tools; atmo mcp --agent NAME connects an agent` };
  const message = isJsonObject(error) ? error.message : 'no tools';
  return { state: 'failed', found: String(message), advice: 'the log of the hub says more' };
}
