import type { Principal, RateLimiter } from '../../core/auth/principal.ts';
import { yamlText } from '../../core/config/checked-yaml.ts';
import { invalidInput } from '../../core/errors.ts';
import { type JsonObject, objectOf } from '../../core/json.ts';
import { defineTool, INTEGER, p, resultSchema, TEXT, TEXTS } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { copyJson } from '../../tools/schema/plain-json.ts';
import { permissionsLacking, permissionsUnneeded } from '../automation-access.ts';
import type { CheckToolPorts } from '../automation-ports.ts';
import { fullAutomationView } from '../automation-view.ts';
import { requirePossible } from '../definition-check.ts';
import { agentIdParameter, ONE_PERMISSION, permissionsParameter, requireSeen } from '../definition-parameters.ts';
import { draftId, draftPrincipal, requireOwnPermissions } from '../spawn-checks.ts';
import { parseAutomationText, problemsIn, type TextProblem, type WrittenAutomation } from './automation-text.ts';
import { boundDefinition } from './bind-names.ts';

/** Maximum length of the text, in characters. The configuration in it may have 16,384 characters as JSON, and comments come on top. */
const MAX_TEXT_LENGTH = 32_768;

/** Returns `hub:convert_automation`, by which people write automations as text. */
export function convertAutomationTool(ports: CheckToolPorts, limiter: Pick<RateLimiter, 'charge'>): RegisteredTool {
  return defineTool(
    {
      namespace: 'hub',
      name: 'convert_automation',
      title: 'Read or write the text of an automation',
      description:
        'Reads an automation from YAML, or writes it as YAML, and says what is wrong in which line, which permissions it needs beside those that are given, and what it would do. Makes and changes nothing.',
      category: 'managing',
      capabilities: ['agent_runtime'],
      permissions: ['agent:spawn'],
      hasSideEffects: false,
      preferLocal: true,
      tags: ['automation', 'yaml', 'text', 'edit', 'draft'],
      parameters: {
        text: p
          .string({
            description: 'YAML or JSON of an automation, as docs/automations.md describes it',
            maxLength: MAX_TEXT_LENGTH,
            secret: true,
          })
          .optional(),
        // Not CONFIG_SCHEMA: a configuration with mistakes is to be read too.
        config: {
          ...p.record({ description: 'Instead of text: what the automation does, as for spawn_agent' }).optional(),
          schema: {
            type: 'object',
            'x-secret-members': true,
            description: 'Instead of text: what the automation does, as for spawn_agent',
          },
        },
        permissions: permissionsParameter('What it may do already', { example: ONE_PERMISSION }).optional(),
        replaces: agentIdParameter('Id of the automation of which it is a new definition').optional(),
      },
      returns: resultSchema(
        {
          text: { ...TEXT, 'x-secret': true, description: 'As YAML' },
          config: {
            type: 'object',
            'x-secret-members': true,
            description: 'As spawn_agent and edit_automation take it; absent if the text cannot be read',
          },
          problems: {
            type: 'array',
            description: 'What is wrong; empty if it could live',
            items: resultSchema({
              line: { ...INTEGER, description: 'Line of the text, from 1 on' },
              pointer: { ...TEXT, description: 'JSON Pointer to the part of config that it is about' },
              message: TEXT,
            }),
          },
          lacks: { ...TEXTS, description: 'Permissions that it needs and that are not given' },
          unneeded: {
            ...TEXTS,
            description: 'Given permissions that it does not need, as far as that is known before a run',
          },
          view: {
            type: 'object',
            'x-secret-members': true,
            description: 'triggers, conditions and actions as list_automations shows them, and the parameters of calls with their units',
          },
        },
        ['config', 'view'],
      ),
    },
    async ({ text, config, permissions = [], replaces }, { principal: by }) => {
      if ((text === undefined) === (config === undefined)) throw invalidInput('Write either text or config');
      const id = replaces === undefined ? draftId(by) : requireSeen(replaces, by, ports.agents).id;
      limiter.charge(by);
      const source = text ?? yamlText(config ?? {});
      const written = parseAutomationText(source);
      if (!('config' in written)) return { text: source, problems: [{ ...written }], lacks: [], unneeded: [] };
      return {
        text: source,
        config: written.config,
        ...(await readOf(written, { agent: draftPrincipal(id, permissions, by), by, ports })),
      };
    },
  );
}

interface Reader {
  readonly by: Principal;
  /** Who the automation would be, with the permissions that are given. */
  readonly agent: Principal;
  readonly ports: CheckToolPorts;
}

async function readOf(written: WrittenAutomation, { by, agent, ports }: Reader): Promise<JsonObject> {
  const { check } = ports;
  // As the author first: without knowing which tools and devices are meant, it cannot be said which permissions they need.
  const mistakes = await problemsIn(written, (config) => requirePossible(boundDefinition(config, by, ports).plan, by, check));
  if (mistakes.length > 0) return { problems: shown(mistakes), lacks: [], unneeded: [] };
  const { plan } = boundDefinition(written.config, by, ports);
  const lacks = permissionsLacking(plan, { author: by, agent }, check);
  const allowed: Principal = { ...agent, permissions: [...agent.permissions, ...lacks] };
  const problems = await problemsIn(written, (config) => {
    requireOwnPermissions(allowed.permissions, by);
    requirePossible(boundDefinition(config, allowed, ports).plan, allowed, check);
  });
  const unneeded = problems.length > 0 ? [] : permissionsUnneeded(plan, { author: by, agent }, check);
  const view = objectOf(copyJson(fullAutomationView(plan, by, ports)));
  return { problems: shown(problems), lacks: [...lacks], unneeded: [...unneeded], view };
}

function shown(problems: readonly TextProblem[]): JsonObject[] {
  return problems.map((problem) => ({ ...problem }));
}
