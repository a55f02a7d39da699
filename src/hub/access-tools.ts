import type { HubConfig } from '../config/config.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { Clock } from '../core/time/clock.ts';
import { DatabaseCopies } from '../journal/archive/database-copies.ts';
import type { HistoryStore } from '../journal/history/history-store.ts';
import type { StateStore } from '../journal/state-store.ts';
import { approvalTools } from '../tools/builtin/access/approval-tools.ts';
import { auditTools } from '../tools/builtin/access/audit-tools.ts';
import { clockTools } from '../tools/builtin/access/clock-tools.ts';
import { ownerTools } from '../tools/builtin/access/owner-tools.ts';
import { replayTools } from '../tools/builtin/access/replay-tools.ts';
import { ruleTools } from '../tools/builtin/access/rule-tools.ts';
import { tokenTools } from '../tools/builtin/access/token-tools.ts';
import { reloadConfigTool } from '../tools/builtin/config-tool.ts';
import { sequenceTool } from '../tools/builtin/sequence-tools.ts';
import { snapshotTool } from '../tools/builtin/snapshot-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { Access } from './open-access.ts';
import type { Workshop } from './open-workshop.ts';

interface AccessToolGround {
  readonly clock: Clock;
  readonly store: StateStore;
  readonly readings: HistoryStore;
  readonly access: Access;
  readonly directory: DeviceDirectory;
}

/** The tools with which people administer who may do what, and read what was done. */
export function accessTools(
  ground: AccessToolGround,
  { registry, tools, validator, pipeline }: Pick<Workshop, 'registry' | 'tools' | 'validator' | 'pipeline'>,
  { roles, stateDir, reload }: HubConfig,
): readonly RegisteredTool[] {
  const { access, directory: devices } = ground;
  const { audit, authorizer, rules, tokens, time } = access;
  return [
    ...approvalTools(access),
    ...tokenTools({ tokens, roles }),
    ...auditTools(audit),
    ...replayTools({ log: audit, registry }),
    ...ruleTools({ rules, registry: tools, validator, authorizer, devices }),
    ...clockTools(time),
    ...ownerTools(access),
    sequenceTool(() => pipeline),
    snapshotTool(databaseCopies(ground, stateDir)),
    ...(reload ? [reloadConfigTool(reload)] : []),
  ];
}

/** The journal last: what the state says of it, such as its head, is in it then. */
function databaseCopies({ clock, store, readings, access }: AccessToolGround, stateDir: string): DatabaseCopies {
  return new DatabaseCopies(clock, stateDir, [
    { name: 'history.db', snapshot: () => readings.snapshot() },
    { name: 'state.db', snapshot: () => store.snapshot() },
    { name: 'audit.db', snapshot: () => access.audit.snapshot() },
  ]);
}
