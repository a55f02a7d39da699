import { BridgeService } from '../bridge/bridge-service.ts';
import { BridgeStore } from '../bridge/bridge-store.ts';
import { bridgeTools } from '../bridge/bridge-tools.ts';
import { ThingFinder } from '../bridge/thing-finder.ts';
import type { BridgeNodes } from '../core/devices/matter-bridge.ts';
import type { NodeBounds } from '../profiles/home/node-bounds.ts';
import { devicesOfScene, type Scene, type SceneStore } from '../profiles/home/scene-store.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ToolServices } from './tool-services.ts';

interface BridgeOptions {
  readonly nodes: BridgeNodes;
  readonly home: { readonly scenes: SceneStore; readonly bounds: NodeBounds };
  readonly hubName: string;
  readonly firstPort: number | undefined;
}

/** Registers the tools of the bridges to other Matter ecosystems, and returns the service, which is not started yet. */
export function openBridges(
  { clock, logger, events, problems, store, readings, directory, auth }: Infrastructure,
  { registry, pipeline, meshProxy }: ToolServices,
  { nodes, home: { scenes, bounds }, hubName, firstPort }: BridgeOptions,
): BridgeService {
  const known = (scene: Scene) => ({ id: scene.id, name: scene.name, devices: devicesOfScene(scene) });
  const list = () => scenes.list().map(known);
  const get = (id: string) => {
    const scene = scenes.get(id);
    return scene && known(scene);
  };
  const onScenesChanged = (listener: (id: string) => void) => scenes.onChange(listener);
  const finder = new ThingFinder({
    readings,
    devices: directory,
    registry,
    scenes: { list, get },
    isGuarded: (device) => bounds.isGuarded(device),
    mesh: meshProxy.view,
    pipeline,
  });
  const bridges = new BridgeService(
    {
      clock,
      logger: logger.child({ module: 'bridge' }),
      events,
      problems,
      store: new BridgeStore(store),
      readings,
      tokens: auth.tokens,
      pipeline,
      mesh: meshProxy,
      finder,
      onScenesChanged,
      nodes,
    },
    { hubName, firstPort },
  );
  for (const tool of bridgeTools({ bridges, finder })) registry.register(tool);
  return bridges;
}
