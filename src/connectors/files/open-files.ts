import { withoutSetting } from '../../tools/definition/missing-setting.ts';
import type { Connector, ConnectorGround } from '../connector.ts';
import type { ConnectorsConfig } from '../connector-config.ts';
import { FileRoots } from './file-roots.ts';
import { fileTools } from './file-tools.ts';
import { requireHarmless } from './harmless-root.ts';

const ALIASES = { tool_file_read: 'core:read_file', tool_file_write: 'core:write_file', tool_ls: 'core:list_files' };
const MISSING = 'set connectors.files.roots in the configuration to the folders that agents may work in';

/** File tools in the owner's folders. CONFIG_INVALID for a folder that would give away the machine or the hub's keys. */
export function openFiles({ stateDir }: Pick<ConnectorGround, 'stateDir'>, { files }: Pick<ConnectorsConfig, 'files'>): Connector {
  const roots = files?.roots ?? {};
  for (const [name, { path }] of Object.entries(roots)) requireHarmless(name, path, stateDir);
  const tools = fileTools(new FileRoots(roots, stateDir), roots);
  return { tools: files ? tools : tools.map((tool) => withoutSetting(tool, MISSING)), aliases: ALIASES };
}
