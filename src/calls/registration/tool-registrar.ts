import semver from 'semver';
import { type Authorizer, isSelfOrDescendant, type Principal } from '../../core/auth/principal.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, permissionDenied, toAtmoError } from '../../core/errors.ts';
import type { ToolId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { parameterNames } from '../../tools/definition/public-definition.ts';
import { COMPOSED, type RegisteredTool, type ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { plainName, toolId, toolKey } from '../../tools/definition/tool-names.ts';
import { canSeeTool } from '../../tools/definition/tool-permissions.ts';
import type { ReferringText } from '../../tools/names/name-references.ts';
import { type ProgramSandbox, programPermissions } from '../../tools/programs/program-sandbox.ts';
import { type ExecRecord, execDefinition, execTool, refuseBoundedDeterminism } from '../../tools/programs/program-tool.ts';
import type { ToolDirectory } from '../../tools/registry/tool-directory.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { composedTool, unavailableTool } from '../composition/composed-tool.ts';
import { checkStep, composedDefinition, requireKnownParameters, requireNoCycle } from '../composition/composition.ts';
import type { Step, StepPipeline } from '../composition/steps.ts';
import type { ToolCaller } from '../request-and-answer.ts';
import {
  originOf,
  requireAllowed,
  requireAllowedName,
  requireBoundedDefinition,
  requireCapacity,
  requireNoDelegation,
} from './registration-policy.ts';
import { type RegistrationRequest, readRegistration, type ToolRecord, type ToolRecordStore } from './tool-record.ts';

interface RegistrarCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly registry: ToolRegistry;
  readonly tools: ToolDirectory;
  readonly validator: SchemaValidator;
  readonly authorizer: Authorizer;
  readonly records: ToolRecordStore;
  readonly pipeline: StepPipeline & Pick<ToolCaller, 'obstacleTo'>;
  /** Returns whether the name belongs to a device's tool, even if the device was removed. */
  readonly isClaimed: (name: string) => boolean;
  /** Returns whether a tool in the owner's files has the name, even if that tool cannot be registered now. */
  readonly isReserved: (name: string) => boolean;
  /** The sandbox in which the programs of records run. */
  readonly programs: ProgramSandbox;
}

interface RegistrarOptions {
  /**
   * Registered tools may require only the permissions that these grants include (ALLOWED_TOOL_PERMS). Default for agents' tools: network,
   * devices and sensor readings. Default for the owner's tools: everything except administration.
   */
  readonly allowed?: readonly string[];
}

/** The grant `*` includes every permission except administration. */
const EVERYTHING = ['*'];
const ALLOWED_TO_AGENTS = ['net:read', 'device:*', 'sensor:*'];

/** Whether a record is stored on the disk. Tools of the bootstrap file are not stored, because the file is read at each start. */
export type Persistence = 'kept' | 'for this run';

/** Registers composed tools and programs. Steps run with the rights of the tool's caller. To register, the maker needs the same rights. */
export class ToolRegistrar {
  readonly #collaborators: RegistrarCollaborators;
  readonly #allowed: readonly string[] | undefined;
  readonly #records = new Map<ToolId, ToolRecord>();
  readonly #unkept = new Set<ToolId>();

  constructor(collaborators: RegistrarCollaborators, { allowed }: RegistrarOptions = {}) {
    this.#collaborators = collaborators;
    this.#allowed = allowed;
  }

  /** Registers the stored tools after a restart. A record that is no longer valid is logged and stays on the disk. */
  restore(): void {
    for (const record of this.#collaborators.records.all()) {
      try {
        // If the owner has not set `allowed`, a stored tool of an agent stays registered, even if it requires more than ALLOWED_TO_AGENTS.
        requireAllowed(record.definition, this.#allowed ?? EVERYTHING);
        requireBoundedDefinition(record.definition);
        this.#enter(record);
      } catch (thrown) {
        const { code, message } = toAtmoError(thrown);
        this.#collaborators.logger.warn('tools.not_restored', { tool: toolId(record.definition), code, problem: message });
      }
    }
  }

  /**
   * Registers a tool for its maker from a record or a public definition. Throws VALIDATION_ERROR if it is malformed, PERMISSION_DENIED if
   * the maker may not register it, CONFLICT if the name is used or there are too many tools, TOOL_NOT_FOUND if a step's tool is unknown,
   * and STORAGE_FAILED if the write fails.
   */
  register(body: JsonObject, maker: Principal, keeping: Persistence = 'kept'): RegisteredTool {
    const record = this.#recordOf(readRegistration(body, originOf(maker)), maker);
    const { definition } = record;
    requireAllowedName(definition);
    requireBoundedDefinition(definition);
    requireAllowed(definition, this.#allowed ?? (maker.kind === 'owner' ? EVERYTHING : ALLOWED_TO_AGENTS));
    if (!this.#isNewerVersion(definition, maker)) this.#requireFreeName(definition, keeping);
    if (keeping === 'kept')
      requireCapacity(
        [...this.#records.values()].filter((known) => this.#isKept(known)),
        maker,
      );
    const tool = this.#enter(record);
    if (keeping === 'for this run') this.#unkept.add(tool.id);
    else this.#keep(record, tool.id);
    return tool;
  }

  /**
   * Removes a registered tool. An agent may remove its own tools and its descendants' tools; an administrator may remove all of them.
   * Throws TOOL_NOT_FOUND if there is no such tool, and PERMISSION_DENIED if the principal may not remove it or the tool is built in.
   */
  remove(name: string, by: Principal): ToolId {
    const { registry, records, authorizer } = this.#collaborators;
    const { id } = registry.resolve(name, { isVisible: (tool) => canSeeTool(tool, by, authorizer) || this.isManagedBy(by, tool.id) });
    const record = this.#records.get(id);
    if (!record)
      throw permissionDenied(
        `${id} comes with the hub, a device or the owner's tools.yaml, and cannot be removed here; tools.disabled switches it off`,
      );
    if (!this.isManagedBy(by, id)) throw permissionDenied(`${id} was made by somebody else; its maker and the owner can remove it`);
    if (this.#unkept.has(id)) throw permissionDenied(`${id} stands in the bootstrap file; take it out of there`);
    records.forget(id);
    this.#records.delete(id);
    registry.unregister(id);
    return id;
  }

  /** Returns the time of a tool's registration (milliseconds since 1970), its maker and its program; undefined for a built-in tool. */
  record(id: string): Pick<ToolRecord, 'createdAtMs' | 'maker' | 'exec'> | undefined {
    return this.#records.get(id as ToolId);
  }

  /** Returns whether the principal may manage the tool, as an administrator, as the agent that made it, or as that agent's ancestor. */
  isManagedBy(by: Principal, id: string): boolean {
    const record = this.#records.get(id as ToolId);
    if (!record) return false;
    if (this.#collaborators.authorizer.authorize(by, ['admin:hub']).allowed) return true;
    return record.definition.metadata.createdBy === 'agent' && isSelfOrDescendant(record.maker, by.id);
  }

  /** Returns the texts that may name other tools and devices: the steps of the composed tools. */
  referringTexts(): readonly ReferringText[] {
    return [...this.#records].flatMap(([id, { composition }]) =>
      composition ? [{ kind: 'tool', id, content: composition.steps.map(({ tool, params }) => ({ tool, params })) }] : [],
    );
  }

  #recordOf(form: RegistrationRequest, maker: Principal): ToolRecord {
    const { definition, composition, exec } = form;
    const made = { maker: maker.id, createdAtMs: this.#collaborators.clock.now() };
    if (exec) return { definition: this.#judgedProgram(definition, exec, maker), exec, ...made };
    if (!composition) return { definition, ...made };
    requireKnownParameters(composition, parameterNames(definition));
    const { authorizer, validator } = this.#collaborators;
    const by = { authorizer, validator, maker, parameters: definition.parameters };
    const judged = composition.steps.map((step) => {
      const tool = this.#toolOfStep(step.tool, maker);
      this.#requireRunnable(step.tool, tool);
      return { tool, ...checkStep(step, tool, by) };
    });
    const permissions = judged.flatMap((one) => one.permissions);
    const tools = judged.map(({ tool }) => tool);
    const complete = composedDefinition(definition, { tools, permissions, composition });
    const steps = judged.map(({ step }) => step);
    requireNoCycle(toolKey({ definition }), steps, (name) => this.#stepsOf(name));
    return { definition: complete, composition: { ...composition, steps }, ...made };
  }

  /** Returns the definition of a program's tool. Throws PERMISSION_DENIED (a permission is missing) or RULE_BLOCKED (unsafe command). */
  #judgedProgram(definition: ToolDefinition, exec: ExecRecord, maker: Principal): ToolDefinition {
    const { programs, authorizer } = this.#collaborators;
    const lacking = programPermissions({ kind: exec.type, powers: exec.powers ?? [] }).filter(
      (permission) => !authorizer.authorize(maker, [permission]).allowed,
    );
    if (lacking.length > 0) {
      const told = `${maker.id} lacks ${lacking.join(', ')}, which the program of this tool needs`;
      throw new AtmoError('PERMISSION_DENIED', told, { required: lacking });
    }
    refuseBoundedDeterminism(definition);
    if (exec.cmd !== undefined) programs.requireSafe([exec.cmd, ...(exec.args ?? [])]);
    return execDefinition(definition, exec, programs);
  }

  #stepsOf(name: string): readonly Step[] | undefined {
    const tool = findAny(this.#collaborators.registry, name);
    return tool && this.#records.get(tool.id)?.composition?.steps;
  }

  #toolOfStep(name: string, maker: Principal): RegisteredTool {
    const { tools, authorizer } = this.#collaborators;
    const tool = tools.resolve(name, { isVisible: (candidate) => canSeeTool(candidate, maker, authorizer) });
    requireNoDelegation(tool, maker);
    // A composed tool of another hub is refused as a step: its steps are unknown here, so an endless cycle would not be detected.
    if (!tool.hubs || !tool.definition.metadata.tags.includes(COMPOSED)) return tool;
    throw new AtmoError('VALIDATION_ERROR', `The step ${name} is a composed tool of another hub; write its steps into this one`);
  }

  /** Throws NO_CAPABLE_NODE if no hub can run the step. */
  #requireRunnable(name: string, tool: RegisteredTool): void {
    const obstacle = this.#collaborators.pipeline.obstacleTo(tool, 'ever');
    if (obstacle !== undefined) throw new AtmoError('NO_CAPABLE_NODE', `The step ${name} can never run: ${obstacle}`, { tool: tool.id });
  }

  /** Returns whether the tool exists, the maker registered all its versions, and the definition has a newer version than all of them. */
  #isNewerVersion(definition: ToolDefinition, maker: Principal): boolean {
    const key = toolKey({ definition });
    const versions = this.#collaborators.registry.all().filter((tool) => toolKey(tool) === key);
    return (
      versions.length > 0 &&
      versions.every((tool) => {
        const isOwn = this.#records.get(tool.id)?.maker === maker.id;
        return isOwn && semver.gt(definition.version, tool.definition.version);
      })
    );
  }

  /** Throws CONFLICT if another tool already has the name: callers of that tool would call the new tool by mistake. */
  #requireFreeName({ name, namespace, metadata }: ToolDefinition, keeping: Persistence): void {
    const { registry } = this.#collaborators;
    const holder = findAny(registry, name) ?? findAny(registry, plainName(name));
    // A tool of the bootstrap file may be registered even if an agent's tool already has the name.
    const isHeld = holder !== undefined && (keeping === 'kept' || holder.definition.metadata.createdBy !== 'agent');
    const isTaken = registry.has(toolKey({ definition: { name, namespace } })) || isHeld || this.#collaborators.isClaimed(name);
    // The owner may register a tool that another hub has too. An agent must not take the name of another hub's tool.
    if (isTaken || (metadata.createdBy === 'agent' && this.#isMeantElsewhere(name)))
      throw new AtmoError(
        'CONFLICT',
        `There is a tool that ${name} means already; choose another name, a newer version of a tool of yours, or remove it first`,
      );
    if (metadata.createdBy === 'agent' && this.#collaborators.isReserved(name))
      throw new AtmoError(
        'CONFLICT',
        `The name ${name} is kept for a tool of the owner's files, which cannot run now; choose another name`,
      );
  }

  #isMeantElsewhere(name: string): boolean {
    return [name, plainName(name)].some((text) => {
      try {
        return !this.#collaborators.tools.isFree(text);
      } catch (thrown) {
        if (thrown instanceof AtmoError) return true;
        throw thrown;
      }
    });
  }

  #enter(record: ToolRecord): RegisteredTool {
    const { registry, tools, pipeline } = this.#collaborators;
    // A step stores `namespace:name`, because a short name could denote another tool later.
    const findHere = (name: string) => registry.find(name);
    const find = (name: string) => findHere(name) ?? tools.all().find((tool) => toolKey(tool) === name.split('@', 1)[0]);
    const ports = { pipeline: () => pipeline, find, findHere };
    const tool = record.composition ? composedTool(record, record.composition, ports) : this.#programOf(record);
    registry.register(tool);
    this.#records.set(tool.id, record);
    return tool;
  }

  /** Returns the tool of a program. Computes the definition again, because the meaning of the program's powers may have changed. */
  #programOf(record: ToolRecord): RegisteredTool {
    const { programs } = this.#collaborators;
    if (!record.exec) return unavailableTool(record);
    return execTool(execDefinition(record.definition, record.exec, programs), record.exec, programs);
  }

  /** Stores the record. If the write fails, unregisters the tool again and rethrows the error. */
  #keep(record: ToolRecord, id: ToolId): void {
    try {
      this.#collaborators.records.keep(record);
    } catch (thrown) {
      this.#records.delete(id);
      this.#collaborators.registry.unregister(id);
      throw thrown;
    }
  }

  #isKept({ definition }: ToolRecord): boolean {
    return !this.#unkept.has(toolId(definition));
  }
}

/** Returns the tool with the name. If several tools have the name, returns the first one. */
function findAny(registry: ToolRegistry, name: string): RegisteredTool | undefined {
  try {
    return registry.find(name);
  } catch (thrown) {
    const { code, details } = toAtmoError(thrown);
    const [first] = code === 'AMBIGUOUS_TOOL' && Array.isArray(details.candidates) ? details.candidates : [];
    return typeof first === 'string' ? registry.find(first) : undefined;
  }
}
