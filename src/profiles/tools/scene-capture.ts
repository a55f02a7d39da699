import type { DeviceAccess } from '../../core/devices/device-directory.ts';
import type { AttributeReading } from '../../core/devices/device-model.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { CompiledValue } from '../compile/cluster-view.ts';
import type { CompiledDevice, DeviceTool } from '../compile/compiled-device.ts';
import type { SceneAction } from '../home/scene-store.ts';
import { propertiesOf } from '../values/converter.ts';
import { isAction } from './class-tool.ts';

/** The capabilities whose state a scene can hold. Locks, valves and what heats food are not among them. */
const CAPTURED: ReadonlySet<string> = new Set(['on-off', 'brightness', 'color', 'window-covering', 'thermostat', 'fan', 'volume', 'mute']);

/**
 * Returns the actions that bring a device back to its present state: on or off, brightness, colour, position, mode and setpoints, fan speed,
 * volume. Returns none if the device has no such state. Rejects with the errors of DeviceAccess.
 */
export async function captureDevice(
  compiled: CompiledDevice,
  { access, signal }: { readonly access: DeviceAccess; readonly signal: AbortSignal },
): Promise<readonly SceneAction[]> {
  // A tool with a higher risk, such as turning on a stove, is never taken into a scene by itself.
  const tools = compiled.tools.filter(({ capability = '', risk, kind }) => CAPTURED.has(capability) && risk === 'low' && kind === 'act');
  if (tools.length === 0) return [];
  const values = [...new Map(tools.flatMap((tool) => tool.values).map((value) => [pathKey(value), value])).values()];
  const paths = values.map(({ endpoint, cluster, attribute }) => ({ device: compiled.device.id, endpoint, cluster, attribute }));
  const readings = await access.read(paths, { signal });
  const raw = new Map(readings.map(({ path, value }) => [pathKey(path), value]));
  return [...Map.groupBy(tools, ({ endpoint }) => endpoint).values()].flatMap((own) => new EndpointState(compiled, own, raw).actions());
}

function pathKey({
  endpoint,
  cluster,
  attribute,
}: Pick<CompiledValue, 'endpoint' | 'cluster' | 'attribute'> | AttributeReading['path']): string {
  return `${endpoint}/${cluster}/${attribute}`;
}

/** The state of one endpoint, and its tools. */
class EndpointState {
  readonly #compiled: CompiledDevice;
  readonly #tools: readonly DeviceTool[];
  readonly #raw: ReadonlyMap<string, Json>;

  constructor(compiled: CompiledDevice, tools: readonly DeviceTool[], raw: ReadonlyMap<string, Json>) {
    this.#compiled = compiled;
    this.#tools = tools;
    this.#raw = raw;
  }

  actions(): readonly SceneAction[] {
    if (this.#value('turn_off', 'is_on') === false) return this.#do('turn_off');
    return [...this.#light(), ...this.#cover(), ...this.#thermostat(), ...this.#fan(), ...this.#sound()];
  }

  #light(): readonly SceneAction[] {
    if (this.#value('turn_on', 'is_on') !== true) return [];
    const brightness = this.#value('set_brightness', 'brightness');
    const light = typeof brightness === 'number' ? this.#do('set_brightness', { brightness }) : this.#do('turn_on');
    return [...light, ...this.#color()];
  }

  #color(): readonly SceneAction[] {
    const temperature = this.#value('set_color_temperature', 'color_temperature');
    if (this.#value('set_color_temperature', 'color_mode') === 'color_temperature')
      return typeof temperature === 'number' ? this.#do('set_color_temperature', { color_temperature: temperature }) : [];
    const [hue, saturation] = [this.#value('set_color', 'hue'), this.#value('set_color', 'saturation')];
    const isHue = this.#value('set_color', 'color_mode') === 'hue_and_saturation';
    return isHue && typeof hue === 'number' && typeof saturation === 'number' ? this.#do('set_color', { hue, saturation }) : [];
  }

  #cover(): readonly SceneAction[] {
    const open = this.#value('set_position', 'open_percent');
    return typeof open === 'number' ? this.#do('set_position', { open_percent: open }) : [];
  }

  #thermostat(): readonly SceneAction[] {
    const mode = this.#value('set_mode', 'mode');
    if (typeof mode !== 'string') return [];
    const setpoint = (one: 'heat' | 'cool') => {
      const temperature = this.#value('set_temperature', `${one}ing_setpoint`);
      const hasChoice = 'setpoint' in propertiesOf(this.#tool('set_temperature')?.parameters ?? {});
      return typeof temperature === 'number' ? this.#do('set_temperature', { temperature, ...(hasChoice && { setpoint: one }) }) : [];
    };
    const held = mode === 'heat' ? setpoint('heat') : mode === 'cool' ? setpoint('cool') : [];
    return [...this.#do('set_mode', { mode }), ...(mode === 'auto' ? [...setpoint('heat'), ...setpoint('cool')] : held)];
  }

  #fan(): readonly SceneAction[] {
    const speed = this.#value('set_speed', 'speed_setting');
    if (typeof speed === 'number') return this.#do('set_speed', { speed });
    const mode = this.#value('set_fan_mode', 'fan_mode');
    return typeof mode === 'string' ? this.#do('set_fan_mode', { fan_mode: mode }) : [];
  }

  #sound(): readonly SceneAction[] {
    const volume = this.#value('set_volume', 'volume');
    const isUnmuted = this.#value('mute', 'is_unmuted');
    const sound = typeof isUnmuted === 'boolean' ? this.#do(isUnmuted ? 'unmute' : 'mute') : [];
    return [...(typeof volume === 'number' ? this.#do('set_volume', { volume }) : []), ...sound];
  }

  #tool(action: string): DeviceTool | undefined {
    return this.#tools.find((tool) => isAction(tool, action));
  }

  /** Returns a value that a tool shows, in human units; undefined if the endpoint lacks the tool or does not tell the value. */
  #value(action: string, name: string): Json | undefined {
    const value = this.#tool(action)?.values.find((one) => one.name === name);
    const raw = value && this.#raw.get(pathKey(value));
    return value === undefined || raw === undefined || raw === null ? undefined : value.toHuman(raw);
  }

  #do(action: string, params: JsonObject = {}): readonly SceneAction[] {
    const tool = this.#tool(action);
    return tool ? [{ device: this.#compiled.device.id, key: tool.key, action: tool.action, params }] : [];
  }
}
