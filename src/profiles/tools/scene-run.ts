import type { Effect } from '../../core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { EventBus } from '../../core/events.ts';
import type { ToolId } from '../../core/ids.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { defineTool, p, TEXT } from '../../tools/definition/define-tool.ts';
import type { CallerRights, RegisteredTool, SkippedMember, ToolContext } from '../../tools/definition/tool-definition.ts';
import { canSeeDevice } from '../../tools/names/resolve-names.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import type { CompiledDevice } from '../compile/compiled-device.ts';
import {
  devicesOfScene,
  type RecallContext,
  type Recalled,
  type Scene,
  type SceneAction,
  type SceneStore,
  sceneContent,
} from '../home/scene-store.ts';
import { delegate } from './class-tool.ts';
import {
  callMembers,
  effectsOfMembers,
  MEMBERS_PROPERTIES,
  MEMBERS_TOOL,
  type Member,
  type MemberName,
  type MemberToolPorts,
  memberWork,
  skippedMembers,
} from './member-calls.ts';

/** The services of the tools that run scenes. */
export interface SceneRunPorts extends MemberToolPorts {
  readonly scenes: SceneStore;
  readonly events: Pick<EventBus, 'emit'>;
  readonly deviceScenes: {
    /** Recalls a scene on a device that keeps it. */
    recall(scene: Scene, compiled: CompiledDevice, context: RecallContext): Promise<Recalled>;
  };
}

/** Namespace of the tools that each run one scene. */
export const SCENE_NAMESPACE = 'scene';

/** A call of a scene. The hub fills in the devices and the content, which people then approve. */
interface SceneCall {
  readonly devices?: readonly string[];
  readonly content?: string;
}

const FILLED_IN = {
  devices: p
    .array(p.string({ description: 'Device id', maxLength: 64 }), {
      description: 'Only these of its devices; default: all that you may control',
      maxItems: 500,
      isRare: true,
    })
    .optional(),
  content: p.string({ description: 'Digest of the scene, which the hub fills in', maxLength: 16, isRare: true }).optional(),
};

const RETURNS = {
  type: 'object',
  required: ['success', 'summary', 'counts', 'members'],
  properties: { ...MEMBERS_PROPERTIES, scene: TEXT },
} as const;

/** Returns the tool `run_scene`. Each device is called with its own tools, with their permission and risk. */
export function runSceneTool(ports: SceneRunPorts): RegisteredTool {
  return defineTool(
    {
      ...MEMBERS_TOOL,
      name: 'run_scene',
      title: 'Run a scene',
      description: 'Runs a scene that was saved: all its devices at once. Tells for each what became of it.',
      tags: ['scene', 'mood'],
      parameters: { scene: p.string({ description: 'Id or name, as list_scenes tells it', minLength: 1, maxLength: 64 }), ...FILLED_IN },
      returns: RETURNS,
      canonicalize: ({ scene: text, ...call }, caller) => {
        const scene = requireScene(ports, text);
        return { scene: scene.id, ...canonicalCall(ports, scene, { call, caller }) };
      },
      effects: ({ scene, devices }) => effectsOfMembers(membersOf(ports, requireScene(ports, scene), devices)),
      skips: ({ scene, devices }, caller) => skipped(ports, requireScene(ports, scene), { devices, caller }),
    },
    ({ scene, ...call }, context) => run(ports, requireScene(ports, scene), { call, context }),
  );
}

/** Returns the tool that runs one scene, such as `scene:good_night`. */
export function toolOfScene(ports: SceneRunPorts, scene: Scene): RegisteredTool {
  const { id } = scene;
  const current = () => requireScene(ports, id);
  const tool = defineTool(
    {
      ...MEMBERS_TOOL,
      namespace: SCENE_NAMESPACE,
      name: id,
      title: scene.name,
      description: `Runs the scene ${quoted(scene.name)}: ${devicesOfScene(scene).length} devices at once.`,
      tags: ['scene'],
      parameters: FILLED_IN,
      returns: RETURNS,
      canonicalize: (call, caller) => canonicalCall(ports, current(), { call, caller }),
      effects: ({ devices }) => effectsOfMembers(membersOf(ports, current(), devices)),
      skips: ({ devices }, caller) => skipped(ports, current(), { devices, caller }),
    },
    (call, context) => run(ports, current(), { call, context }),
  );
  return { ...tool, implementation: () => sceneContent(current()) };
}

/** Returns the scene with this id or name. Throws NOT_FOUND. */
export function requireScene({ scenes }: Pick<SceneRunPorts, 'scenes'>, text: string): Scene {
  const scene = scenes.find(text);
  if (scene) return scene;
  throw new AtmoError(
    'NOT_FOUND',
    `There is no scene ${JSON.stringify(text.slice(0, 80))}; list_scenes (atmo scenes) tells those that are`,
  );
}

/** Returns what one device does, with the effects of its own tools. Any use of a lock is dangerous, so that people approve it. */
export function actionsWork(
  { devices, validator }: Pick<SceneRunPorts, 'devices' | 'validator'>,
  actions: readonly SceneAction[],
): Member[] {
  return [...Map.groupBy(actions, ({ device }) => device)].map(([device, own]) => {
    const compiled = devices.get(device);
    if (!compiled) return { device, name: device, work: { skipped: 'The device was removed' } };
    const work = memberWork(compiled, () =>
      own.map(({ key, action, params }) => {
        const tool = compiled.tools.find((one) => one.key === key);
        if (tool) return delegate({ validator }, tool, params);
        throw new AtmoError('NOT_SUPPORTED', `It can no longer ${action.replaceAll('_', ' ')}`);
      }),
    );
    const guarded = 'skipped' in work ? work : { ...work, effects: work.effects.map(guardedEffect) };
    return { device, name: compiled.device.name, work: guarded };
  });
}

function guardedEffect(effect: Effect): Effect {
  return effect.target.split('/').includes('DoorLock') ? { ...effect, risk: 'dangerous' } : effect;
}

function skipped(
  ports: SceneRunPorts,
  scene: Scene,
  { devices, caller }: { readonly devices?: readonly string[] | undefined; readonly caller: CallerRights },
): readonly SkippedMember[] {
  const others = (by: CallerRights) => devicesSeen(ports, scene, by);
  return skippedMembers(ports, { members: membersOf(ports, scene, devices), others }, caller);
}

function membersOf(ports: SceneRunPorts, { actions }: Scene, devices: readonly string[] = []): readonly Member[] {
  return actionsWork(
    ports,
    actions.filter(({ device }) => devices.includes(device)),
  );
}

type CallBy = { readonly call: SceneCall; readonly caller: CallerRights };

/**
 * Returns the call with the devices of the scene that the caller sees and may control, and with the digest of the scene. Throws CONFLICT if
 * the scene has changed since the digest was made, and PERMISSION_DENIED if no device is left.
 */
function canonicalCall(ports: SceneRunPorts, scene: Scene, { call, caller }: CallBy): { readonly devices: Json; readonly content: string } {
  const content = sceneContent(scene);
  if (call.content !== undefined && call.content !== content) throw changedMeanwhile(scene);
  const named = call.devices?.map((text) => ports.names.resolve(text, caller) as string);
  const wanted = devicesOfScene(scene).filter((id) => named === undefined || named.includes(id));
  const devices = wanted.filter((id) => canSeeDevice(id, caller) && caller.may(`device:control:${id}`));
  if (devices.length > 0) return { devices: [...devices], content };
  throw new AtmoError('PERMISSION_DENIED', `You may control none of the devices of the scene ${quoted(scene.name)}`);
}

function changedMeanwhile({ name }: Scene): AtmoError {
  return new AtmoError('CONFLICT', `The scene ${quoted(name)} has changed meanwhile; look at it, then run it again`);
}

/** Runs the scene. Throws CONFLICT if it is no longer the one whose effects were judged, because it was changed while the call waited. */
async function run(
  ports: SceneRunPorts,
  scene: Scene,
  { call, context }: { readonly call: SceneCall; readonly context: ToolContext },
): Promise<JsonObject> {
  if (call.content !== sceneContent(scene)) throw changedMeanwhile(scene);
  const members = membersOf(ports, scene, call.devices).map((member) => withRecall(ports, scene, member));
  const others = (caller: CallerRights) => devicesSeen(ports, scene, caller);
  const answer = await callMembers(ports, { members, others, subject: `Scene ${quoted(scene.name)}` }, context);
  ports.events.emit('scene.run', scene.id, { scene: scene.id, agent_id: context.principal.id });
  return { ...answer, members: answer.members as unknown as Json, scene: scene.id };
}

/** Lets a device that keeps the scene itself recall it, as far as the rules allow the call all that a recall may bring. */
function withRecall({ deviceScenes }: SceneRunPorts, scene: Scene, member: Member): Member {
  const { work } = member;
  if ('skipped' in work) return member;
  return { ...member, work: { ...work, recall: (options) => deviceScenes.recall(scene, work.compiled, options) } };
}

function devicesSeen({ devices }: SceneRunPorts, scene: Scene, caller: CallerRights): readonly MemberName[] {
  return devicesOfScene(scene)
    .filter((id) => canSeeDevice(id, caller))
    .map((id) => ({ id, name: devices.get(id)?.device.name ?? id }));
}

/** Registers a tool for each scene, and again when the scene changes; the returned function stops that. */
export function registerSceneTools(
  ports: SceneRunPorts,
  { registry, logger }: { readonly registry: Pick<ToolRegistry, 'register' | 'unregister'>; readonly logger: Logger },
): () => void {
  const registered = new Map<string, ToolId>();
  const refresh = (id: string) => {
    const scene = ports.scenes.get(id);
    const tool = scene && toolOfScene(ports, scene);
    const before = registered.get(id);
    registered.delete(id);
    if (before !== undefined) registry.unregister(before);
    if (!tool) return;
    try {
      registry.register(tool);
      registered.set(id, tool.id);
    } catch (error) {
      logger.warn('scene.tool_not_registered', { scene: id, problem: toAtmoError(error).message });
    }
  };
  for (const { id } of ports.scenes.list()) refresh(id);
  return ports.scenes.onChange(refresh);
}
