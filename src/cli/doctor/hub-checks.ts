import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { type JsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import { packageVersion } from '../../core/package-files.ts';
import { type CheckResult, type Finding, failed, guardedCheck, type HubQuestions, ok, warning } from '../../doctor/check-result.ts';
import { certificateCheck } from '../../doctor/home-checks.ts';
import { answerText } from '../hub/answer-body.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { schemaChecks } from './tool-checks.ts';

const PAGE = 1_000;

/** Checks whether a hub responds, and what it says about its health. `stepAfter` returns what to do about an error. */
export async function hubCheck(hub: HubClient, stepAfter: (error: AtmoError) => string | undefined): Promise<Finding> {
  try {
    const { status, problems, node_id: id, version } = await hub.health();
    if (status === 'ok') return ok(`${id} at ${hub.url}, version ${version}`);
    return warning(`${status}: ${textsOf(problems).join('; ')}`, 'its log says more, on the hub: journalctl -u atmosphere-edge');
  } catch (thrown) {
    const error = toAtmoError(thrown);
    return failed(error.message, stepAfter(error) ?? 'the other checks wait until it answers');
  }
}

/** Checks that the hub accepts the token, and that its tools are described. */
export function acceptanceChecks(hub: HubClient): Promise<readonly CheckResult[]> {
  return Promise.all([
    guardedCheck('token is accepted', () => acceptedFinding(hub)),
    guardedCheck('tool schemas', async () => schemasFinding(await hub.get('/api/v1/tools', { limit: PAGE }))),
  ]);
}

/** Returns a hub that the checks ask over HTTP. */
export function questionsOverHttp(hub: HubClient): HubQuestions {
  return {
    call: (tool, params) => hub.call(tool, params),
    devices: () => hub.get('/api/v1/devices'),
    mesh: () => hub.get('/api/v1/mesh'),
    tls: () => hub.get('/api/v1/tls'),
    isMatterOn: async () => objectsIn(await hub.get('/api/v1/capabilities'), 'capabilities').some(({ type }) => type === 'matter_bridge'),
  };
}

async function acceptedFinding(hub: HubClient): Promise<Finding> {
  await hub.get('/api/v1/tools', { limit: 1 });
  return ok(`by ${hub.url}`);
}

function schemasFinding(answer: JsonObject): Finding {
  const tools = objectsIn(answer, 'tools');
  const wrong = tools.filter((tool) => schemaChecks(tool).some(({ state }) => state !== 'ok')).map((tool) => tool.id);
  if (wrong.length === 0) return ok(`${tools.length} tools`);
  return warning(`${wrong.length} of ${tools.length} tools`, `atmo doctor ${wrong[0]}`);
}

const PROTOCOL = '2026-07-28';
const ASSET = /(?:src|href)="(\/assets\/[^"]+)"/g;

/** Checks the hub's TLS, web page and MCP endpoint. */
export function endpointChecks(hub: HubClient, nowMs: number): Promise<readonly CheckResult[]> {
  return Promise.all([
    certificateCheck(questionsOverHttp(hub), nowMs),
    guardedCheck('monitor page', () => pageFinding(hub)),
    guardedCheck('MCP', () => mcpFinding(hub)),
  ]);
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
    return await answerText(await hub.stream(path, {}, { accept: '*/*' }));
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
