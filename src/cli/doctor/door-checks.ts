import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { packageVersion } from '../../core/process/package-version.ts';
import type { HubClient } from '../hub/hub-client.ts';
import type { CheckResult } from './check-result.ts';
import { guardedCheck } from './guarded-check.ts';

type Finding = Omit<CheckResult, 'check'>;

const DAY_MS = 86_400_000;
/** The hub renews its own certificate long before: one that ends so soon was not renewed. */
const ENDING_DAYS = 14;
const PROTOCOL = '2026-07-28';
const ASSET = /(?:src|href)="(\/assets\/[^"]+)"/g;

/** What people and agents reach the hub by: TLS, the page, MCP. */
export function doorChecks(hub: HubClient, nowMs: number): Promise<readonly CheckResult[]> {
  return Promise.all([
    guardedCheck('TLS certificate', async () => certificateFinding(await hub.get('/api/v1/tls'), nowMs)),
    guardedCheck('monitor page', () => pageFinding(hub)),
    guardedCheck('MCP', () => mcpFinding(hub)),
  ]);
}

function certificateFinding({ enabled, url, certificate_ends_at: endsAt }: JsonObject, nowMs: number): Finding {
  if (enabled !== true) return { state: 'ok', found: 'none needed: the hub answers to this machine alone' };
  const days = Math.floor((Date.parse(String(endsAt)) - nowMs) / DAY_MS);
  const found = `${url}, until ${endsAt}`;
  if (days >= ENDING_DAYS) return { state: 'ok', found };
  const advice = 'the hub renews its own: see its log and its clock; one that you brought (http.tls.certificate_file) you renew';
  return { state: days < 0 ? 'failed' : 'warning', found, advice };
}

async function pageFinding(hub: HubClient): Promise<Finding> {
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
async function mcpFinding(hub: HubClient): Promise<Finding> {
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
