import type { Effect } from '../../core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type JsonObject, present, textsOf } from '../../core/json.ts';
import { defineTool, p, resultSchema, TEXT, TEXTS } from '../../tools/definition/define-tool.ts';
import type { CallerRights, RegisteredTool, Restorable, ToolContext } from '../../tools/definition/tool-definition.ts';
import { callerView } from '../../tools/definition/tool-permissions.ts';
import { canSeeDevice } from '../../tools/names/resolve-names.ts';
import { resolvePlace } from '../../tools/names/resolve-place.ts';
import { copyJsonObject } from '../../tools/schema/plain-json.ts';
import { maskSecrets } from '../../tools/schema/secrets.ts';
import { devicesOfScene, type Scene, type SceneAction } from '../home/scene-store.ts';
import { AREA_KINDS, isOfKind } from './area-actions.ts';
import { delegationOf } from './class-tools.ts';
import type { DeviceScenes } from './device-scenes.ts';
import { effectsOfMembers, MEMBERS_TOOL } from './member-calls.ts';
import { captureDevice } from './scene-capture.ts';
import { actionsWork, requireScene, runSceneTool, SCENE_NAMESPACE, type SceneRunPorts } from './scene-run.ts';

const MAX_DEVICES = 200;
const nameParameter = p.string({ description: 'Name for people', minLength: 1, maxLength: 64, isGivenName: true });
const sceneParameter = p.string({ description: 'Id or name of the scene', minLength: 1, maxLength: 64 });

/** Where the content of a scene comes from: the present state of a place or of devices, or a list of actions. */
const CONTENT = {
  area: p.string({ description: 'Take what is now in this area or floor, or in the "house"', maxLength: 64 }).optional(),
  devices: p
    .array(p.string({ description: 'Device id or name', maxLength: 64 }), { description: 'Take what these are now', maxItems: MAX_DEVICES })
    .optional(),
  actions: p
    .array(
      p.object(
        {
          device: p.string({ description: 'Device id or name', maxLength: 64 }),
          action: p.string({ description: 'Action of the device, such as turn_off', maxLength: 80 }),
          params: p.record({ description: 'Parameters of the action. Example: {"brightness": 40}', default: {}, secretMembers: true }),
        },
        { description: 'What one device does' },
      ),
      { description: 'What devices do, in place of what is now', maxItems: MAX_DEVICES },
    )
    .optional(),
};

const membersParameter = p
  .array(p.string({ description: 'Device id', maxLength: 64 }), { description: 'Its devices, which the hub fills in', isRare: true })
  .optional();

interface ContentRequest {
  readonly area?: string;
  readonly devices?: readonly string[];
  readonly actions?: readonly { readonly device: string; readonly action: string; readonly params: JsonObject }[];
}

const ACTION = resultSchema({ device_id: TEXT, device: TEXT, action: TEXT, params: { type: 'object' } });
const SCENE = resultSchema({ scene: TEXT, name: TEXT, tool: TEXT, actions: { type: 'array', items: ACTION } });
const SAVED = resultSchema({
  ...SCENE.properties,
  left_out: { ...TEXTS, description: 'Devices whose state could not be taken, with the reason' },
});

/** The services of the tools for scenes. */
interface ScenePorts extends SceneRunPorts {
  readonly deviceScenes: Pick<DeviceScenes, 'keep' | 'recall' | 'forget'>;
}

/** Returns the tools that list, save, change, delete and run scenes. */
export function sceneTools(ports: ScenePorts): readonly RegisteredTool[] {
  return [listScenesTool(ports), saveSceneTool(ports), changeSceneTool(ports), deleteSceneTool(ports), runSceneTool(ports)];
}

/** Returns the tool `list_scenes`. It tells the scenes of which the caller may control a device, with the devices that the caller sees. */
function listScenesTool(ports: ScenePorts): RegisteredTool {
  return defineTool(
    {
      name: 'list_scenes',
      title: 'List scenes',
      description: 'Lists the scenes of the home, with what each device does.',
      category: 'querying',
      hasSideEffects: false,
      preferLocal: true,
      tags: ['scene', 'mood', 'scenes'],
      parameters: {},
      returns: resultSchema({ scenes: { type: 'array', items: SCENE } }),
    },
    async (_, { principal }) => {
      const caller = callerView(principal, ports.authorizer);
      const own = ports.scenes.list().filter((scene) => devicesOfScene(scene).some((id) => caller.may(`device:control:${id}`)));
      return { scenes: own.map((scene) => sceneView(ports, scene, caller)) };
    },
  );
}

function saveSceneTool(ports: ScenePorts): RegisteredTool {
  return defineTool(
    {
      ...MEMBERS_TOOL,
      name: 'save_scene',
      title: 'Save a scene',
      description:
        'Saves a scene under a name: what an area or devices are now (on or off, brightness, color, position, temperature, volume), or a list of actions. Locks are taken only from the list.',
      tags: ['scene', 'mood', 'save', 'remember'],
      parameters: { name: nameParameter, ...CONTENT },
      returns: SAVED,
      canonicalize: ({ name, ...content }, caller) => {
        ports.scenes.requireFreeName(name);
        return { name, ...canonicalContent(ports, content, caller) };
      },
      effects: (content) => contentEffects(ports, content),
      restorable: ({ name }) => restorableScene(ports, ports.scenes.find(name)?.id ?? ports.scenes.newId(name)),
    },
    async ({ name, ...content }, context) => {
      const { actions, leftOut } = await contentOf(ports, content, context);
      const scene: Scene = { id: ports.scenes.newId(name), name, actions, changedAtMs: context.clock.now() };
      ports.scenes.save(scene);
      if (!content.actions) await ports.deviceScenes.keep(scene, ports.devices, context.signal);
      return { ...sceneView(ports, scene, callerView(context.principal, ports.authorizer)), left_out: [...leftOut] };
    },
  );
}

function changeSceneTool(ports: ScenePorts): RegisteredTool {
  return defineTool(
    {
      ...MEMBERS_TOOL,
      permissions: ['device:control:{members}'],
      isDestructive: true,
      name: 'change_scene',
      title: 'Change a scene',
      description: 'Gives a scene another name, or another content: what is now, or a list of actions. Its tool keeps its name.',
      tags: ['scene', 'mood', 'edit', 'rename'],
      parameters: { scene: sceneParameter, name: nameParameter.optional(), ...CONTENT, members: membersParameter },
      returns: SAVED,
      canonicalize: ({ scene: text, name, ...content }, caller) => {
        const scene = ownScene(ports, text, caller);
        if (name !== undefined) ports.scenes.requireFreeName(name, scene.id);
        const wanted = hasContent(content) ? canonicalContent(ports, content, caller) : {};
        const members = distinctSorted([...devicesOfScene(scene), ...textsOf(wanted.devices)]);
        return present({ scene: scene.id, name, ...wanted, members }) as unknown as JsonObject;
      },
      effects: ({ scene, members = [], ...content }) => [
        ...members.map((id) => deviceEffect(id as DeviceId, scene)),
        ...contentEffects(ports, content),
      ],
      restorable: ({ scene }) => restorableScene(ports, scene),
    },
    async ({ scene: id, name, ...content }, context) => {
      const taken = hasContent(content) ? await contentOf(ports, content, context) : undefined;
      const before = requireScene(ports, id);
      const { actions, leftOut } = taken ?? { actions: before.actions, leftOut: [] };
      const scene: Scene = { id: before.id, name: name ?? before.name, actions, changedAtMs: context.clock.now() };
      ports.scenes.save(scene);
      if (content.actions) await ports.deviceScenes.forget(scene.id, context.signal);
      else if (taken) await ports.deviceScenes.keep(scene, ports.devices, context.signal);
      return { ...sceneView(ports, scene, callerView(context.principal, ports.authorizer)), left_out: [...leftOut] };
    },
  );
}

function deleteSceneTool(ports: ScenePorts): RegisteredTool {
  return defineTool(
    {
      ...MEMBERS_TOOL,
      permissions: ['device:control:{members}'],
      name: 'delete_scene',
      title: 'Delete a scene',
      description: 'Deletes a scene and its tool. The devices stay as they are.',
      tags: ['scene', 'remove'],
      isDestructive: true,
      parameters: { scene: sceneParameter, members: membersParameter },
      returns: resultSchema({ scene: TEXT, name: TEXT }),
      canonicalize: ({ scene: text }, caller) => {
        const scene = ownScene(ports, text, caller);
        return { scene: scene.id, members: [...devicesOfScene(scene)] };
      },
      effects: ({ scene, members = [] }) => members.map((id) => deviceEffect(id as DeviceId, scene)),
      restorable: ({ scene }) => restorableScene(ports, scene),
    },
    async ({ scene: text }, { signal }) => {
      const scene = requireScene(ports, text);
      ports.scenes.delete(scene.id);
      await ports.deviceScenes.forget(scene.id, signal);
      return { scene: scene.id, name: scene.name };
    },
  );
}

/** A new scene is deleted again, a changed one gets its former name and content, and a deleted one is saved again. */
function restorableScene({ scenes }: Pick<ScenePorts, 'scenes'>, id: string): Restorable {
  return {
    path: `scene/${id}`,
    now: () => {
      const scene = scenes.get(id);
      return scene ? copyJsonObject({ name: scene.name, actions: scene.actions.map(givenAction) }) : null;
    },
    restore: (before) => {
      if (!isJsonObject(before)) return { tool: 'core:delete_scene', params: { scene: id } };
      return scenes.get(id) ? { tool: 'core:change_scene', params: { ...before, scene: id } } : { tool: 'core:save_scene', params: before };
    },
  };
}

function givenAction({ device, action, params }: SceneAction): GivenAction {
  return { device, action, params };
}

/** Returns the scene. Throws PERMISSION_DENIED if the caller may not control all of its devices; the error names none of them. */
function ownScene(ports: ScenePorts, text: string, caller: CallerRights): Scene {
  const scene = requireScene(ports, text);
  if (devicesOfScene(scene).every((id) => caller.may(`device:control:${id}`))) return scene;
  throw new AtmoError('PERMISSION_DENIED', `You may not control all devices of the scene ${scene.id}, so you may not change it`);
}

function deviceEffect(device: DeviceId, scene: string): Effect {
  return { permission: `device:control:${device}`, risk: 'low', target: `${device}/scene/${scene}`, device };
}

/** Returns the content with the ids of its devices, sorted. Throws VALIDATION_ERROR unless it comes from one source. */
function canonicalContent(ports: ScenePorts, content: ContentRequest, caller: CallerRights): JsonObject {
  const { area, devices = [], actions } = content;
  if (actions !== undefined && actions.length > 0) {
    if (area !== undefined) throw new AtmoError('VALIDATION_ERROR', 'Give either actions, or the area or devices whose state is taken');
    const known = actions.map((one) => canonicalAction(ports, one, caller));
    return { devices: distinctSorted(known.map(({ device }) => device)), actions: known };
  }
  const named = devices.map((text) => ports.names.resolve(text, caller));
  const ids = distinctSorted([...named, ...(area === undefined ? [] : devicesIn(ports, area, caller))]);
  if (ids.length > 0) return { devices: ids };
  throw new AtmoError('VALIDATION_ERROR', 'Say what the scene holds: an area or devices, whose state is taken now, or actions');
}

function distinctSorted(ids: readonly string[]): string[] {
  return [...new Set(ids)].sort();
}

/** Returns the lights, covers, climate and media devices of a place that the caller may control. */
function devicesIn(ports: ScenePorts, area: string, caller: CallerRights): readonly DeviceId[] {
  const visible = ports.devices.list().filter(({ device }) => canSeeDevice(device.id, caller));
  const place = resolvePlace(
    { text: area },
    visible.map(({ device }) => device.area),
    ports.areas,
  );
  const there = visible.filter((compiled) => place.has(compiled.device.area) && AREA_KINDS.some((kind) => isOfKind(compiled, kind)));
  return there.map(({ device }) => device.id).filter((id) => caller.may(`device:control:${id}`));
}

type GivenAction = NonNullable<ContentRequest['actions']>[number];

/** Returns the action with the device's id and checked parameters. Throws VALIDATION_ERROR if it holds a secret: scenes are not secret. */
function canonicalAction(ports: ScenePorts, { device, action, params }: GivenAction, caller: CallerRights): GivenAction {
  const id = ports.names.resolve(device, caller);
  const { tool, params: checked } = delegationOf(ports, { device_id: id, command: action, params });
  if (tool.kind === 'read' || tool.isAdministrative)
    throw new AtmoError('VALIDATION_ERROR', `${tool.action} of ${id} does not belong into a scene`, { pointer: '/actions' });
  if (JSON.stringify(maskSecrets(tool.parameters, checked)) !== JSON.stringify(checked))
    throw new AtmoError('VALIDATION_ERROR', `${tool.action} of ${id}: a scene keeps no PIN or other secret; leave it out`, {
      pointer: '/actions',
    });
  return { device: id, action: tool.action, params: checked };
}

function hasContent({ area, devices, actions }: ContentRequest): boolean {
  return area !== undefined || devices !== undefined || actions !== undefined;
}

/** Saving an action needs the permissions and approvals of doing it. Taking what is now changes nothing that needs more than control. */
function contentEffects(ports: ScenePorts, content: ContentRequest): readonly Effect[] {
  if (content.actions) return effectsOfMembers(actionsWork(ports, sceneActions(ports, content.actions)));
  return (content.devices ?? []).flatMap((id) => {
    const device = id as DeviceId;
    const read: Effect = { permission: `device:read:${device}`, risk: 'none', target: `${device}/state`, device };
    return [deviceEffect(device, 'save'), read];
  });
}

function sceneActions(ports: ScenePorts, actions: readonly GivenAction[]): readonly SceneAction[] {
  return actions.map(({ device, action, params }) => {
    const { tool } = delegationOf(ports, { device_id: device, command: action, params });
    return { device: device as DeviceId, key: tool.key, action: tool.action, params };
  });
}

interface Content {
  readonly actions: readonly SceneAction[];
  readonly leftOut: readonly string[];
}

async function contentOf(ports: ScenePorts, content: ContentRequest, { signal }: ToolContext): Promise<Content> {
  if (content.actions) return { actions: sceneActions(ports, content.actions), leftOut: [] };
  const taken = await Promise.all((content.devices ?? []).map((id) => captured(ports, id as DeviceId, signal)));
  const actions = taken.flatMap((one) => (typeof one === 'string' ? [] : one));
  const leftOut = taken.filter((one) => typeof one === 'string');
  if (actions.length > 0) return { actions, leftOut };
  throw new AtmoError('NOT_SUPPORTED', `None of these devices has a state that a scene can hold: ${leftOut.slice(0, 5).join('; ')}`);
}

/** Returns the actions that bring back the device's present state, or why there are none. */
async function captured({ devices, access }: ScenePorts, id: DeviceId, signal: AbortSignal): Promise<readonly SceneAction[] | string> {
  const compiled = devices.get(id);
  if (!compiled) return `${id}: the device was removed`;
  try {
    const actions = await captureDevice(compiled, { access, signal });
    return actions.length > 0 ? actions : `${id}: it has no state that a scene can hold`;
  } catch (error) {
    return `${id}: ${toAtmoError(error).message}`;
  }
}

function sceneView({ devices }: ScenePorts, scene: Scene, caller: CallerRights) {
  const seen = scene.actions.filter(({ device }) => canSeeDevice(device, caller));
  return {
    scene: scene.id,
    name: scene.name,
    tool: `${SCENE_NAMESPACE}:${scene.id}`,
    actions: seen.map(({ device, action, params }) => ({
      device_id: device,
      device: devices.get(device)?.device.name ?? device,
      action,
      params,
    })),
  };
}
