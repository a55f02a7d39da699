import type { Principal } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { WRITTEN_LINE } from '../../core/untrusted-text.ts';
import { defineTool, INSTANT, INTEGER, p, resultSchema, TEXT, TEXTS } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { copyJsonObject } from '../../tools/schema/plain-json.ts';
import type { AutomationEdit } from '../agent-changes.ts';
import type { AgentRunner } from '../agent-runner.ts';
import type { CheckToolPorts } from '../automation-ports.ts';
import { conflictsOf } from '../check/automation-check.ts';
import { FINDINGS } from '../check/finding.ts';
import { agentIdParameter, DIFFERENCES, HASH, permissionsParameter, SOME_PERMISSIONS } from '../definition-parameters.ts';
import { CONFIG_SCHEMA } from '../plan/plan-schema.ts';
import { definitionHash, differences } from './definition.ts';
import { MAX_VERSIONS, presentVersion, type Version } from './version-store.ts';

const OF_AUTOMATION = {
  category: 'managing',
  capabilities: ['agent_runtime'],
  permissions: ['agent:configure:{agent_id}'],
  preferLocal: true,
} as const;
const CHANGES = {
  ...OF_AUTOMATION,
  hasSideEffects: true,
  isIdempotent: true,
  isDestructive: true,
  timeoutMs: 10_000,
  // An edit can make of an automation whatever a new one could be.
  ruledLike: ['spawn_agent'],
} as const;
const READS = { ...OF_AUTOMATION, hasSideEffects: false } as const;

const agentId = agentIdParameter('Id of the automation, as list_automations tells it');
const note = p
  .string({ description: 'What the new version is for, for the list of versions', maxLength: 200, pattern: WRITTEN_LINE })
  .optional();
const versionNumber = p.integer({ description: 'Number of a version, as list_automation_versions tells it', minimum: 1 });

const CONFIG = { type: 'object', 'x-secret-members': true, description: 'What it does, with ids in place of names' } as const;
const VERSION = { ...INTEGER, description: 'Number of the version; 1 is the first' } as const;
const EDITED = resultSchema(
  {
    version: VERSION,
    is_changed: { type: 'boolean', description: 'False if this is what the automation did before: no version was made' },
    hash: HASH,
    conflicts: FINDINGS,
  },
  ['conflicts'],
);

/** Returns the tools about the definition of an automation and its versions. */
export function versionTools(runner: AgentRunner, ports: CheckToolPorts): readonly RegisteredTool[] {
  return [editAutomationTool(runner, ports), showAutomationTool(runner), listVersionsTool(runner), rollBackTool(runner, ports)];
}

function editAutomationTool(runner: AgentRunner, ports: CheckToolPorts): RegisteredTool {
  return defineTool(
    {
      ...CHANGES,
      name: 'edit_automation',
      title: 'Edit an automation',
      description:
        'Replaces what an automation does by a whole new definition, which is checked as spawn_agent checks one. Its id and its end stay, and the version before can be brought back. A run in progress is given up.',
      tags: ['automation', 'change', 'edit', 'rule', 'schedule'],
      parameters: {
        agent_id: agentId,
        config: { ...p.record({ description: 'What it does from now on; show_automation tells what it does now' }), schema: CONFIG_SCHEMA },
        permissions: permissionsParameter('What it may do from now on, out of what the caller may; as before when absent', {
          example: SOME_PERMISSIONS,
          minItems: 1,
        }).optional(),
        note,
      },
      returns: EDITED,
    },
    async ({ agent_id: id, ...edit }, { principal }) => edited(runner, { id, edit, by: principal }, ports),
  );
}

function rollBackTool(runner: AgentRunner, ports: CheckToolPorts): RegisteredTool {
  return defineTool(
    {
      ...CHANGES,
      name: 'roll_back_automation',
      title: 'Bring back a version of an automation',
      description:
        'Makes a new version of an automation that does what an earlier version did, with the permissions of that version. It is checked as an edit is.',
      tags: ['automation', 'version', 'undo', 'restore'],
      parameters: { agent_id: agentId, version: versionNumber },
      returns: EDITED,
    },
    async ({ agent_id: id, version: number }, { principal }) => {
      const { config, permissions } = requireVersion(runner.directory.versions(id, principal), number);
      return edited(runner, { id, edit: { config, permissions, note: `As version ${number}` }, by: principal }, ports);
    },
  );
}

interface EditBy {
  readonly id: string;
  readonly edit: AutomationEdit;
  readonly by: Principal;
}

async function edited(runner: AgentRunner, { id, edit, by }: EditBy, ports: CheckToolPorts) {
  const { record, isChanged } = runner.edit(id, edit, by);
  const conflicts = await conflictsOf(record, by, ports);
  const { number } = presentVersion(record);
  return { version: number, is_changed: isChanged, hash: definitionHash(record), ...(conflicts && { conflicts }) };
}

function showAutomationTool(runner: AgentRunner): RegisteredTool {
  return defineTool(
    {
      ...READS,
      name: 'show_automation',
      title: 'Show the definition of an automation',
      description: 'Tells the whole definition of an automation, now or in an earlier version: what edit_automation takes.',
      tags: ['automation', 'definition', 'config'],
      parameters: { agent_id: agentId, version: versionNumber.optional() },
      returns: resultSchema({ version: VERSION, hash: HASH, config: CONFIG, permissions: TEXTS }),
    },
    async ({ agent_id: id, version: wanted }, { principal }) => {
      const versions = runner.directory.versions(id, principal);
      const version = wanted === undefined ? versions[0] : requireVersion(versions, wanted);
      const { number, config, permissions } = version ?? requireVersion(versions, 1);
      return copyJsonObject({ version: number, hash: definitionHash({ config, permissions }), config, permissions });
    },
  );
}

function listVersionsTool(runner: AgentRunner): RegisteredTool {
  return defineTool(
    {
      ...READS,
      name: 'list_automation_versions',
      title: 'List the versions of an automation',
      description: `Lists the last ${MAX_VERSIONS} versions of an automation, the newest first: when and by whom each was made, and what differs from the one before.`,
      tags: ['automation', 'version', 'history', 'diff'],
      parameters: { agent_id: agentId },
      returns: resultSchema({
        versions: {
          type: 'array',
          items: resultSchema(
            {
              version: VERSION,
              at: INSTANT,
              by: TEXT,
              note: TEXT,
              hash: HASH,
              is_current: { type: 'boolean' },
              diff: { ...DIFFERENCES, description: 'What differs from the version before it; empty for the oldest that is kept' },
            },
            ['note'],
          ),
        },
      }),
    },
    async ({ agent_id: id }, { principal }) => {
      const versions = runner.directory.versions(id, principal);
      return copyJsonObject({
        versions: versions.map((version, index) => ({ ...versionView(version, versions[index + 1]), is_current: index === 0 })),
      });
    },
  );
}

function versionView(version: Version, former: Version | undefined): JsonObject {
  const { number, atMs, by, note: said } = version;
  return copyJsonObject({
    version: number,
    at: isoTime(atMs),
    by,
    note: said,
    hash: definitionHash(version),
    diff: former ? differences(former, version) : [],
  });
}

function requireVersion(versions: readonly Version[], wanted: number): Version {
  const version = versions.find(({ number }) => number === wanted);
  if (version) return version;
  const known = versions.map(({ number }) => number).join(', ');
  throw new AtmoError('NOT_FOUND', `There is no version ${wanted} of this automation; these are kept: ${known}`);
}
