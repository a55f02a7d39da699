import type { Principal } from '../core/auth/principal.ts';
import { isoTime } from '../core/clock.ts';
import { isJsonObject, type Json, type JsonObject, objectOf } from '../core/json.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { callerView } from '../tools/definition/tool-permissions.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';
import { copyJson, snakeJson } from '../tools/schema/plain-json.ts';
import { type AgentRecord, shownStatus } from './agent-store.ts';
import type { CheckToolPorts } from './automation-ports.ts';
import { type ThingKind, thingNamedBy } from './home-things.ts';
import { unitOfParam } from './plain-unit.ts';
import type { AutomationPlan } from './plan/plan-schema.ts';
import { type Action, isAction, type Step } from './plan/step-schema.ts';

/** What is known of an agent beside its record. */
interface AgentFacts {
  /** When a trigger by time fires next, milliseconds since 1970; undefined if there is none. */
  readonly nextRunAtMs: number | undefined;
  readonly parameters: Readonly<Record<string, Json>>;
}

/** Returns the public view of an agent, without its token. */
export function agentView(record: AgentRecord, { nextRunAtMs, parameters }: AgentFacts): Json {
  const { lastError, lastRunAtMs, running, disabled } = record;
  return snakeJson({
    agentId: record.id,
    agentType: record.type,
    kind: record.kind,
    name: record.name,
    status: shownStatus(record),
    parent: record.parent,
    permissions: record.permissions,
    parameters,
    createdAt: isoTime(record.createdAtMs),
    expiresAt: isoTime(record.expiresAtMs),
    renewsItself: record.renewsItself,
    disabledBy: disabled?.by,
    runs: record.runs,
    isRunning: running !== undefined,
    lastRunAt: lastRunAtMs === undefined ? undefined : isoTime(lastRunAtMs),
    lastOutcome: record.lastOutcome,
    nextRunAt: nextRunAtMs === undefined ? undefined : isoTime(nextRunAtMs),
    lastError: lastError && { code: lastError.code, message: lastError.message, at: isoTime(lastError.atMs) },
    reason: record.reason,
  });
}

/** Parameters that name what an action acts on. All others are not shown, because any of them may be a secret. */
const TARGETS = ['device_id', 'device_ids', 'area', 'scene', 'scene_id'];

/**
 * Returns what an automation waits for and what it calls, by its plan. An action has the tool's title, and of its parameters only the targets.
 * Beside each id of a device, sensor or scene that the caller may see stands its name of today: `device_name` beside `device_id`.
 */
export function automationView(plan: AutomationPlan | undefined, by: Principal, { registry, things, authorizer }: ViewPorts): JsonObject {
  return viewOf(plan, by, { ports: { registry, things, authorizer }, actionView: (action) => actionView(action, registry) });
}

/**
 * Returns what `automationView` returns, and of each call also its other parameters with their units. For who is shown the configuration too,
 * because a parameter may be a secret.
 */
export function fullAutomationView(plan: AutomationPlan, by: Principal, ports: ViewPorts): JsonObject {
  return viewOf(plan, by, { ports, actionView: (action) => fullActionView(action, ports.registry) });
}

interface ViewPorts extends Pick<CheckToolPorts, 'registry' | 'authorizer'> {
  readonly things: Pick<CheckToolPorts['things'], 'nameFor'>;
}
type ActionView = (action: Action) => JsonObject;

function viewOf(
  plan: AutomationPlan | undefined,
  by: Principal,
  { ports, actionView: show }: { readonly ports: ViewPorts; readonly actionView: ActionView },
): JsonObject {
  const view = {
    triggers: copyJson(plan?.triggers ?? []),
    conditions: copyJson(plan?.conditions ?? []),
    actions: (plan?.actions ?? []).map((step) => stepView(step, show)),
  };
  const caller = callerView(by, ports.authorizer);
  return objectOf(withNames(view, (kind, id) => ports.things.nameFor(kind, id, caller)));
}

type NameOf = (kind: ThingKind, id: string) => string | undefined;

function withNames(value: Json, nameOf: NameOf): Json {
  if (Array.isArray(value)) return value.map((item: Json) => withNames(item, nameOf));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => [[name, withNames(item, nameOf)], ...namesBeside(name, item, nameOf)]),
  );
}

function namesBeside(member: string, item: Json, nameOf: NameOf): readonly [string, Json][] {
  const kind = thingNamedBy(member);
  if (kind === undefined) return [];
  const named = Array.isArray(item) ? item.map((id) => nameOf(kind, String(id)) ?? String(id)) : nameOf(kind, String(item));
  return named === undefined ? [] : [[`${kind}_name${Array.isArray(item) ? 's' : ''}`, named]];
}

/** Returns a step as it is written, with the views of the steps within it. */
function stepView(step: Step, show: ActionView): JsonObject {
  if (isAction(step)) return show(step);
  const views = (steps: readonly Step[]) => steps.map((one) => stepView(one, show));
  if (step.type === 'choose') {
    const options = step.options.map(({ conditions, actions }) => ({ conditions: copyJson(conditions), actions: views(actions) }));
    return { type: step.type, options, otherwise: views(step.otherwise) };
  }
  if (step.type === 'repeat') return { ...objectOf(copyJson(step)), actions: views(step.actions) };
  if (step.type === 'parallel') return { type: step.type, branches: step.branches.map(views) };
  return objectOf(copyJson(step));
}

function actionView({ tool, params }: Action, registry: Pick<ToolDirectory, 'find'>): JsonObject {
  const title = toolOf(tool, registry)?.definition.metadata.title;
  return { tool, ...(title !== undefined && { title }), ...targetsIn(params) };
}

function targetsIn(params: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(params).filter(([name, value]) => TARGETS.includes(name) && isName(value)));
}

function fullActionView(action: Action, registry: Pick<ToolDirectory, 'find'>): JsonObject {
  const view = actionView(action, registry);
  const targets = targetsIn(action.params);
  const params = Object.fromEntries(Object.entries(action.params).filter(([name]) => !Object.hasOwn(targets, name)));
  const units = unitsOf(Object.keys(params), toolOf(action.tool, registry));
  return { ...view, ...(Object.keys(params).length > 0 && { params }), ...(Object.keys(units).length > 0 && { units }) };
}

/** Returns the units of parameters, as far as the tool names them and they look like units. */
function unitsOf(names: readonly string[], tool: RegisteredTool | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const unit = unitOfParam(tool, name);
      return unit === undefined ? [] : [[name, unit]];
    }),
  );
}

function isName(value: Json | undefined): boolean {
  return typeof value === 'string' || (Array.isArray(value) && !value.some(isJsonObject));
}

function toolOf(name: string, registry: Pick<ToolDirectory, 'find'>): RegisteredTool | undefined {
  try {
    return registry.find(name);
  } catch {
    return undefined;
  }
}
