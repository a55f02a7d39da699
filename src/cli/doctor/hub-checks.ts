import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import { packageVersion } from '../../core/package-files.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { meshFinding } from '../hub/mesh-status.ts';
import { type CheckResult, type Finding, failed, guardedCheck, ok, warning } from './check-result.ts';
import { schemaChecks } from './tool-checks.ts';

const PAGE = 1_000;

/** Checks whether a hub responds, and what it says about its health. */
export async function hubCheck(hub: HubClient): Promise<Finding> {
  try {
    const { status, problems, node_id: id, version } = await hub.health();
    if (status === 'ok') return ok(`${id} at ${hub.url}, version ${version}`);
    return warning(`${status}: ${textsOf(problems).join('; ')}`, 'its log says more: journalctl -u atmosphere-edge');
  } catch (thrown) {
    return failed(toAtmoError(thrown).message, 'start one: atmo serve, or systemctl start atmosphere-edge');
  }
}

/** Checks the devices, tools and agents of the home, and the other hubs. */
export function homeChecks(hub: HubClient, nowMs: number): Promise<readonly CheckResult[]> {
  return Promise.all([
    guardedCheck('token is accepted', () => acceptedFinding(hub)),
    guardedCheck('devices', async () => devicesFinding(await hub.get('/api/v1/devices'))),
    guardedCheck('half commissioned devices', () => halfCommissionedFinding(hub)),
    guardedCheck('tool schemas', async () => schemasFinding(await hub.get('/api/v1/tools', { limit: PAGE }))),
    guardedCheck('agents', async () => agentsFinding(await hub.call('list_agents', {}), nowMs)),
    guardedCheck('mesh', async () => meshFinding(await hub.get('/api/v1/mesh'))),
  ]);
}

async function acceptedFinding(hub: HubClient): Promise<Finding> {
  await hub.get('/api/v1/tools', { limit: 1 });
  return ok(`by ${hub.url}`);
}

function devicesFinding(answer: JsonObject): Finding {
  const devices = objectsIn(answer, 'devices');
  const away = devices.filter(({ reachability }) => reachability !== 'reachable').map(({ id }) => id);
  if (away.length === 0) return ok(devices.length === 0 ? 'none yet: atmo commission CODE' : `${devices.length} reachable`);
  const advice = `see that they have power, then atmo device ping ${away[0]}`;
  return warning(`${away.length} of ${devices.length} not reachable: ${away.join(', ')}`, advice);
}

async function halfCommissionedFinding(hub: HubClient): Promise<Finding> {
  const answer = await hub.call('hub:half_commissioned', {}).catch((thrown: unknown) => requireMatterOff(hub, thrown));
  if (answer === undefined) return ok('Matter is off (matter.enabled)');
  const devices = objectsOf(answer);
  if (devices.length === 0) return ok('none');
  const advice = devices.map((device) => device.advice).join('; ');
  return warning(devices.map((device) => device.id).join(', '), advice);
}

/** Resolves if the tool is missing because Matter is off on the hub. Otherwise throws `thrown` again. */
async function requireMatterOff(hub: HubClient, thrown: unknown): Promise<undefined> {
  if (toAtmoError(thrown).code !== 'TOOL_NOT_FOUND') throw thrown;
  const capabilities = objectsIn(await hub.get('/api/v1/capabilities'), 'capabilities');
  if (capabilities.some(({ type }) => type === 'matter_bridge')) throw thrown;
}

function schemasFinding(answer: JsonObject): Finding {
  const tools = objectsIn(answer, 'tools');
  const wrong = tools.filter((tool) => schemaChecks(tool).some(({ state }) => state !== 'ok')).map((tool) => tool.id);
  if (wrong.length === 0) return ok(`${tools.length} tools`);
  return warning(`${wrong.length} of ${tools.length} tools`, `atmo doctor ${wrong[0]}`);
}

/** Returns the finding about agents that fail, expire soon or have expired. Agents that were killed are omitted. */
function agentsFinding(answer: Json, nowMs: number): Finding {
  const agents = objectsIn(answer, 'agents');
  const living = agents.filter((agent) => isLiving(agent) && !hasExpired(agent, nowMs));
  const failing = living.filter(({ last_error: error, status }) => isJsonObject(error) || status === 'failing');
  const expired = agents.filter((agent) => hasExpired(agent, nowMs) && nowMs - msOf(agent.expires_at) < SHOWN_AFTER_END_MS);
  const ending = living.filter((agent) => endsSoon(agent, nowMs));
  const problems = [
    ...(failing.length > 0 ? [`${idsOf(failing)} failed last: ${failureOf(failing[0])}`] : []),
    ...(expired.length > 0 ? [`${idsOf(expired)} has ended, its time is over`] : []),
    ...ending.map(({ agent_id: id, expires_at: at }) => `${id} ends at ${at}`),
  ];
  if (problems.length === 0) return ok(`${living.length} at work`);
  const renew =
    expired.length + ending.length > 0
      ? ['atmo agent renew NAME gives an automation a new end, atmo agent spawn NAME --ttl TIME makes any agent anew']
      : [];
  const look = failing.length > 0 ? ['atmo agents lists them; atmo audit tail --agent ID tells what they did'] : [];
  return warning(problems.join('; '), [...look, ...renew].join('; '));
}

const DAY_MS = 86_400_000;
/** Milliseconds for which an expired agent is still reported. */
const SHOWN_AFTER_END_MS = 30 * DAY_MS;
const SOON_MS = 3 * DAY_MS;

function isLiving({ status }: JsonObject): boolean {
  return status !== 'killed' && status !== 'expired';
}

function hasExpired({ status, expires_at: at }: JsonObject, nowMs: number): boolean {
  return status === 'expired' || (status !== 'killed' && msOf(at) <= nowMs);
}

/** Returns whether an agent expires within three days or within a quarter of its lifetime, whichever is shorter. */
function endsSoon({ created_at: from, expires_at: at, renews_itself: renewsItself }: JsonObject, nowMs: number): boolean {
  if (renewsItself === true) return false;
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

/** Number of days before expiry at which a certificate gets a warning. The hub renews its own certificate long before. */
const ENDING_DAYS = 14;
const PROTOCOL = '2026-07-28';
const ASSET = /(?:src|href)="(\/assets\/[^"]+)"/g;

/** Checks the hub's TLS, web page and MCP endpoint. */
export function endpointChecks(hub: HubClient, nowMs: number): Promise<readonly CheckResult[]> {
  return Promise.all([
    guardedCheck('TLS certificate', async () => certificateFinding(await hub.get('/api/v1/tls'), nowMs)),
    guardedCheck('monitor page', () => pageFinding(hub)),
    guardedCheck('MCP', () => mcpFinding(hub)),
  ]);
}

function certificateFinding({ enabled, url, certificate_ends_at: endsAt }: JsonObject, nowMs: number): Finding {
  if (enabled !== true) return ok('none needed: the hub answers to this machine alone');
  const days = Math.floor((Date.parse(String(endsAt)) - nowMs) / DAY_MS);
  const found = `${url}, until ${endsAt}`;
  if (days >= ENDING_DAYS) return ok(found);
  const advice = 'the hub renews its own: see its log and its clock; one that you brought (http.tls.certificate_file) you renew';
  return { state: days < 0 ? 'failed' : 'warning', found, advice };
}

async function pageFinding(hub: HubClient): Promise<Finding> {
  const advice = 'install the package again, or run "npm run build" in the checkout; then restart the hub';
  const page = await bodyOf(hub, '/');
  if (page === undefined) return warning('this hub has none', advice);
  const assets = [...page.matchAll(ASSET)].map(([, path = '']) => path);
  const answers = await Promise.all(assets.map(async (path) => ({ path, body: await bodyOf(hub, path) })));
  const missing = answers.filter(({ body }) => body === undefined).map(({ path }) => path);
  if (missing.length === 0) return ok(`${hub.url}/ with ${assets.length} files; atmo monitor signs you in`);
  return failed(`${missing.join(', ')} cannot be had`, advice);
}

/** Returns the content of a file of the hub's page. Returns undefined if the hub has no such file. */
async function bodyOf(hub: HubClient, path: string): Promise<string | undefined> {
  try {
    return await (await hub.stream(path, {}, { accept: '*/*' })).text();
  } catch (error) {
    if (error instanceof AtmoError && (error.code === 'NOT_FOUND' || error.code === 'NOT_CONFIGURED')) return undefined;
    throw error;
  }
}

/** Checks that the MCP endpoint responds to the first request of a client. */
async function mcpFinding(hub: HubClient): Promise<Finding> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': PROTOCOL,
    'io.modelcontextprotocol/clientInfo': { name: 'atmo doctor', version: packageVersion() },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } };
  const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': PROTOCOL, 'mcp-method': 'tools/list' };
  const { result, error } = await hub.post('/mcp', body, headers);
  const tools = objectsOf(objectOf(result).tools).length;
  if (tools > 0) return ok(`${hub.url}/mcp with ${tools} tools; atmo mcp --agent NAME connects an agent`);
  return failed(String(objectOf(error).message ?? 'no tools'), 'the log of the hub says more');
}
