import { present } from '../../core/json.ts';
import { lazy } from '../../core/lifecycle.ts';
import { type RegisteredTool, unconfigured } from '../../tools/definition/tool-definition.ts';
import type { Capability } from '../../tools/registry/capability-catalogue.ts';
import { type Connector, type ConnectorContext, optionalSecret } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import { FileRoots } from '../files/file-roots.ts';
import { hostRule } from './address-policy.ts';
import { fetchTools } from './fetch-tools.ts';
import { htmlScraperTool } from './html-scraper.ts';
import type { FetchPublic } from './public-fetch.ts';
import { searchWebTool } from './searxng.ts';
import { textTools } from './text-tools.ts';
import type { SearchConfig, WebConfig } from './web-config.ts';

const INTERNET: Capability = { type: 'internet', description: () => 'Pages of the web, searched and read' };
const ALIASES = {
  tool_http_get: 'core:http_get',
  tool_html_scraper: 'core:html_scraper',
  tool_json_parse: 'core:json_parse',
  tool_text_search: 'core:text_search',
};

/** Returns a connector with the tools for web and texts. Throws CONFIG_INVALID if a network is malformed or a secret cannot be read. */
export function openWeb(
  { env, stateDir }: Pick<ConnectorContext, 'env' | 'stateDir'>,
  { web, search, files }: Pick<ConnectorsConfig, 'web' | 'search' | 'files'>,
): Connector {
  const roots = files?.roots ?? {};
  return {
    tools: [...pageTools(web), searchTool(search, env), ...textTools({ files: new FileRoots(roots, stateDir), roots })],
    aliases: ALIASES,
    capabilities: web.enabled || search ? [INTERNET] : [],
  };
}

function pageTools({ enabled, allowedHosts }: WebConfig): readonly RegisteredTool[] {
  const fetchPublic = lazyFetch(allowedHosts);
  const tools = [...fetchTools(fetchPublic), htmlScraperTool(fetchPublic)];
  return enabled ? tools : tools.map((tool) => unconfigured(tool, 'set connectors.web.enabled to true in the configuration'));
}

function searchTool(search: SearchConfig | undefined, env: NodeJS.ProcessEnv): RegisteredTool {
  if (!search) return unconfigured(searchWebTool({ url: '' }), 'set connectors.search.url in the configuration to a SearXNG server');
  const { token, ...server } = search;
  return searchWebTool({ ...server, ...present({ token: optionalSecret(token, env) }) });
}

/**
 * Returns a fetch that loads `publicFetch` at its first request. Without a request, the hub saves the memory for HTTP, TLS and
 * decompression. Throws CONFIG_INVALID at once if a network in `allowedHosts` is malformed. `setting` is the setting with these hosts,
 * `caFile` a file with the only authorities to trust.
 */
export function lazyFetch(allowedHosts: readonly string[] = [], setting = 'connectors.web.allowed_hosts', caFile?: string): FetchPublic {
  hostRule(allowedHosts);
  const options = { allowedHosts, setting, ...(caFile !== undefined && { caFile }) };
  const made = lazy(async () => (await import('./public-fetch.ts')).publicFetch(options));
  return async (request) => (await made())(request);
}
