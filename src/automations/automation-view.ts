import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';
import { copyJson } from '../tools/schema/plain-json.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import type { AgentRecord } from './agent-store.ts';
import type { Action, AutomationPlan } from './automation-schema.ts';
import { parseAutomation } from './parse-automation.ts';

/** The parts of the hub that describe an automation. */
export interface AutomationViewPorts {
  readonly validator: SchemaValidator;
  readonly registry: Pick<ToolDirectory, 'find'>;
}

/** Parameters that name what an action acts on. All others are not shown, because any of them may be a secret. */
const TARGETS = ['device_id', 'device_ids', 'area', 'scene', 'scene_id'];

/** Returns what an automation waits for and what it calls. An action has the tool's title, and of its parameters only the targets. */
export function automationView({ config }: AgentRecord, { validator, registry }: AutomationViewPorts): JsonObject {
  const plan = planOf(config, validator);
  return {
    triggers: copyJson(plan?.triggers ?? []),
    conditions: copyJson(plan?.conditions ?? []),
    actions: (plan?.actions ?? []).map((action) => actionView(action, registry)),
  };
}

/** Returns the plan; undefined for a stored configuration that this version cannot read any more. */
function planOf(config: JsonObject, validator: SchemaValidator): AutomationPlan | undefined {
  try {
    return parseAutomation(config, validator);
  } catch {
    return undefined;
  }
}

function actionView({ tool, params }: Action, registry: AutomationViewPorts['registry']): JsonObject {
  const targets = Object.entries(params).filter(([name, value]) => TARGETS.includes(name) && isName(value));
  const title = titleOf(tool, registry);
  return { tool, ...(title !== undefined && { title }), ...Object.fromEntries(targets) };
}

function isName(value: Json | undefined): boolean {
  return typeof value === 'string' || (Array.isArray(value) && !value.some(isJsonObject));
}

function titleOf(tool: string, registry: AutomationViewPorts['registry']): string | undefined {
  try {
    return registry.find(tool)?.definition.metadata.title;
  } catch {
    return undefined;
  }
}
