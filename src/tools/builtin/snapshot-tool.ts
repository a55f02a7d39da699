import { defineTool } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { FOR_HUB, HUB_ACTS } from './devices/admin-declaration.ts';

/** Port: copies of the hub's databases, which it keeps for itself while it runs. */
export interface SnapshotTaker {
  /** Paths below the state directory. STORAGE_FAILED. */
  take(): Promise<readonly { readonly database: string; readonly copy: string }[]>;
}

const path = { type: 'string' } as const;

/** What `atmo backup` asks of a running hub. Whoever wants the copies has to be able to read the state directory. */
export function snapshotTool(snapshots: SnapshotTaker): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'take_snapshots',
      title: 'Copy the databases',
      description:
        "Copies every database of the hub into its state directory, each whole in itself, and tells where. For backups: `atmo backup FILE` calls it. Example: {} answers {snapshots: [{database: 'state.db', copy: 'snapshots/state.db.1767225600000.snapshot'}]}.",
      isIdempotent: true,
      timeoutMs: 300_000,
      parameters: {},
      returns: {
        type: 'object',
        required: ['snapshots'],
        properties: {
          snapshots: {
            type: 'array',
            items: { type: 'object', required: ['database', 'copy'], properties: { database: path, copy: path } },
          },
        },
      },
    },
    async () => ({ snapshots: (await snapshots.take()).map(({ database, copy }) => ({ database, copy })) }),
  );
}
