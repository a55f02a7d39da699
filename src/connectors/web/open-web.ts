import { readSecret } from '../../core/settings/secret-source.ts';
import type { Capability } from '../../tools/capability-catalogue.ts';
import { withoutSetting } from '../../tools/definition/missing-setting.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { Connector, ConnectorGround } from '../connector.ts';
import type { ConnectorsConfig } from '../connector-config.ts';
import { FileRoots } from '../files/file-roots.ts';
import { fetchTools } from './fetch-tools.ts';
import { lazyFetch } from './lazy-fetch.ts';
import { scraperTool } from './scraper-tool.ts';
import { searchWebTool } from './search-web-tool.ts';
import { textTools } from './text-tools.ts';
import type { SearchConfig, WebConfig } from './web-config.ts';

const INTERNET: Capability = { type: 'internet', description: () => 'Pages of the web, searched and read' };
const ALIASES = {
  tool_http_get: 'core:http_get',
  tool_html_scraper: 'core:html_scraper',
  tool_json_parse: 'core:json_parse',
  tool_text_search: 'core:text_search',
};

/** Tools that fetch and search the web, and two that work on texts alone. CONFIG_INVALID for a network or secret that is none. */
export function openWeb(
  { env, stateDir }: Pick<ConnectorGround, 'env' | 'stateDir'>,
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
  const tools = [...fetchTools(fetchPublic), scraperTool(fetchPublic)];
  return enabled ? tools : tools.map((tool) => withoutSetting(tool, 'set connectors.web.enabled to true in the configuration'));
}

function searchTool(search: SearchConfig | undefined, env: NodeJS.ProcessEnv): RegisteredTool {
  if (!search) return withoutSetting(searchWebTool({ url: '' }), 'set connectors.search.url in the configuration to a SearXNG server');
  const { token, ...server } = search;
  return searchWebTool({ ...server, ...(token !== undefined && { token: readSecret(token, env) }) });
}
