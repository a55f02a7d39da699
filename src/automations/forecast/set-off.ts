import type { RehearsedEffects } from '../../calls/coming-conflicts.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { deviceElement } from '../../core/devices/action-descriptions.ts';
import { parseDeviceId, parseSensorId } from '../../core/devices/device-names.ts';
import { parseToolName } from '../../tools/definition/tool-names.ts';
import type { CheckPorts } from '../automation-ports.ts';
import type { ValueChange } from '../check/acts.ts';
import type { Behaviour } from '../check/behaviour.ts';
import { changedValue, Influences, setsOff } from '../check/influences.ts';
import type { Start } from '../check/starts.ts';
import { ANY_VALUE, exactly, isWithin, type ValueRange } from '../check/value-range.ts';
import { canObserve } from '../observed.ts';
import type { DeviceEventTrigger, ReadingTrigger } from '../plan/trigger-schema.ts';
import type { SetOffStart } from './coming-steps.ts';

/** A call that may set off automations. */
export interface SettingOff extends Pick<RehearsedEffects, 'toolId' | 'params'> {
  readonly changes: readonly ValueChange[];
  readonly caller: Principal;
}

interface WatchedReading {
  readonly trigger: ReadingTrigger;
  readonly influences: Influences;
}

/** Finds which triggers a call sets off: by the readings that it changes, the events that its devices may send, and the scene that it runs. */
export class SetOffTriggers {
  readonly #call: SettingOff;
  readonly #ports: CheckPorts;

  constructor(call: SettingOff, ports: CheckPorts) {
    this.#call = call;
    this.#ports = ports;
  }

  of(behaviour: Behaviour): readonly SetOffStart[] {
    const influences = new Influences([behaviour], this.#ports);
    return behaviour.starts.flatMap((start) => {
      const isCertain = this.#isSetOff(start, influences);
      return isCertain === undefined ? [] : [{ start, isCertain }];
    });
  }

  /** Returns whether the call sets off a trigger for certain, or perhaps; undefined if it does not. */
  #isSetOff(start: Start, influences: Influences): boolean | undefined {
    const { trigger } = start;
    if (trigger.type === 'reading') return this.#isCrossed(start, { trigger, influences });
    if (trigger.type === 'device_event') return this.#maySend(trigger) ? false : undefined;
    return trigger.type === 'scene' && trigger.scene_id === sceneOf(this.#call) ? true : undefined;
  }

  #isCrossed(start: Start, { trigger, influences }: WatchedReading): boolean | undefined {
    const before = this.#valueOf(trigger);
    const range = start.watches?.range ?? ANY_VALUE;
    if (trigger.changes !== true && before !== ANY_VALUE && isWithin(before, range)) return undefined;
    const crossings = this.#call.changes.flatMap((change) =>
      influences.of(change).flatMap((influence) => {
        if (influence.fact !== start.watches?.fact) return [];
        const after = changedValue(change, { influence, before });
        if (after === before || !setsOff(start, { before, after, influence })) return [];
        return [influence.how === 'shows' && before !== ANY_VALUE && isWithin(after, range) && change.becomes !== undefined];
      }),
    );
    return crossings.length === 0 ? undefined : crossings.includes(true);
  }

  /** Returns the present value of a reading; any value if it is not known, or if the caller may not read it. */
  #valueOf(trigger: ReadingTrigger): ValueRange {
    const { readings, authorizer } = this.#ports;
    if (!canObserve(trigger, this.#call.caller, authorizer)) return ANY_VALUE;
    const value = readings.current(parseSensorId(trigger.sensor_id))?.value;
    return value === undefined || value === null ? ANY_VALUE : exactly(value);
  }

  /** Returns whether the call uses the cluster of a device from which the event comes. */
  #maySend({ device_id: device, event, cluster }: DeviceEventTrigger): boolean {
    const known = cluster === undefined ? (this.#ports.values.eventsOf(parseDeviceId(device)) ?? []) : [`${cluster}/${event}`];
    const clusters = known.filter((one) => one.endsWith(`/${event}`)).map((one) => one.slice(0, -event.length - 1));
    return this.#call.changes.some(({ device: changed, effect }) => {
      return changed === device && clusters.includes(deviceElement(effect.target)?.cluster ?? '');
    });
  }
}

/** Returns the id of the scene that a call runs; undefined if it runs none. */
function sceneOf({ toolId, params }: SettingOff): string | undefined {
  const { namespace, name } = parseToolName(toolId) ?? {};
  if (namespace === 'scene') return name;
  return name === 'run_scene' && typeof params.scene === 'string' ? params.scene : undefined;
}
