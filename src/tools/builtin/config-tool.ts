import type { ConfigReload } from '../../core/settings/config-reload.ts';
import { defineTool } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { FOR_HUB, HUB_ACTS } from './devices/admin-declaration.ts';

const keys = { type: 'array', items: { type: 'string' } } as const;

/** Reads the configuration again, as SIGHUP does. CONFIG_INVALID leaves everything as it was. */
export function reloadConfigTool(reload: () => ConfigReload): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'reload_config',
      title: 'Read the configuration again',
      description:
        'Reads the configuration file again after it was changed. Tells which keys hold from now on, and which take a restart of the hub. A file with mistakes changes nothing.',
      isIdempotent: true,
      parameters: {},
      returns: { type: 'object', required: ['applied', 'needs_restart'], properties: { applied: keys, needs_restart: keys } },
    },
    async () => {
      const { applied, needsRestart } = reload();
      return { applied: [...applied], needs_restart: [...needsRestart] };
    },
  );
}
