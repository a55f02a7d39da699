import type { Effect } from '../../core/auth/principal.ts';
import { type Clock, orAborted } from '../../core/clock.ts';
import type { DeviceAccess, DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { DeviceState } from '../../core/devices/device-model.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import type { DeviceStates, ExpectedChange, Reversibility } from '../../core/devices/device-states.ts';
import { type Json, type JsonObject, present } from '../../core/json.ts';
import type { CompiledValue } from '../compile/cluster-view.ts';
import type { CompiledDevice, CompiledDevices } from '../compile/compiled-device.ts';
import { pathsOf } from '../tools/run-device-tool.ts';
import { type AffectedDevice, affectedDevices, irreversibleEffect } from './affected-devices.ts';
import { inversePlan } from './inverse-plan.ts';
import { PredictedState } from './predicted-state.ts';
import { type DeviceEffect, deviceEffect, isActing, onePerAttribute, pathOf } from './touched-values.ts';

/**
 * Longest time for which a call waits for devices that have not reported their present values yet, in milliseconds. A device that sleeps or has
 * no power would otherwise delay what the call does to all others. What is unknown then cannot be undone.
 */
const MAX_WAIT_MS = 1_000;

/** The services with which the states of devices are known. */
export interface DeviceStatePorts {
  readonly devices: Pick<CompiledDevices, 'get'>;
  readonly access: Pick<DeviceAccess, 'read' | 'isCurrent'>;
  readonly directory: Pick<DeviceDirectory, 'get'>;
  readonly clock: Clock;
}

/** Knows the states of devices from their reports, and what effects do to them from the compiled profiles. */
export class LiveDeviceStates implements DeviceStates {
  readonly #ports: DeviceStatePorts;

  constructor(ports: DeviceStatePorts) {
    this.#ports = ports;
  }

  before(effects: readonly Effect[], signal: AbortSignal): DeviceState | Promise<DeviceState> {
    const affected = affectedDevices(this.#ports.devices, effects);
    const reported = Object.fromEntries(affected.map((one) => [one.compiled.device.id, this.#reported(one)]));
    const asked = affected.filter((one) => this.#valuesToAsk(one).length > 0 && this.#isReachable(one));
    return asked.length === 0 ? withoutEmpty(reported) : this.#withAsked(reported, asked, signal);
  }

  latest(state: DeviceState): DeviceState {
    return Object.fromEntries(
      Object.entries(state).map(([device, values]) => {
        const compiled = this.#ports.devices.get(parseDeviceId(device));
        const known = (compiled?.values ?? []).filter((value) => Object.hasOwn(values, pathOf(value)));
        return [device, compiled ? lastRaw(compiled, onePerAttribute(known)) : {}];
      }),
    );
  }

  changesOf(effects: readonly Effect[], mayRead: (device: string) => boolean): readonly ExpectedChange[] {
    return affectedDevices(this.#ports.devices, effects).flatMap(({ compiled, effects: own, touched }) => {
      const { id } = compiled.device;
      return touched.map((value) => {
        // The value afterwards would tell the present one too: what toggles, or what an undo puts back.
        if (!mayRead(id)) return { device_id: id, name: value.name, unit: value.unit };
        const raw = compiled.live(value.endpoint, value.cluster, value.attribute);
        const now = raw === undefined ? undefined : value.toHuman(raw);
        const expected = expectedValue(own, value);
        const outcome = expected === undefined ? { unforeseen: true as const } : { expected };
        return { device_id: id, name: value.name, unit: value.unit, ...(now !== undefined && { now }), ...outcome };
      });
    });
  }

  reversibilityOf(effects: readonly Effect[]): Reversibility {
    for (const one of affectedDevices(this.#ports.devices, effects)) {
      const reason = irreversibleEffect(one) ?? this.#obstacle(one);
      if (reason !== undefined) return { possible: false, reason: `${one.compiled.device.name}: ${reason}` };
    }
    const other = effects.find((effect) => isActing(effect) && !this.#isKnown(effect));
    if (!other) return { possible: true };
    return { possible: false, reason: `What happens at ${other.target} is not kept in a way that could be put back` };
  }

  #obstacle({ compiled, effects, kept }: AffectedDevice): string | undefined {
    const raw = kept.map((value) => [value, compiled.live(value.endpoint, value.cluster, value.attribute)] as const);
    const unknown = raw.find(([value, now]) => now === undefined && !value.hasToBeAsked);
    if (unknown) return `it has not reported its ${unknown[0].title.toLowerCase()} yet`;
    const wanted = new Map(raw.flatMap(([value, now]): [string, Json][] => (now === undefined ? [] : [[pathOf(value), now]])));
    const changes = kept.map((value) => present({ value, human: expectedValue(effects, value) }));
    const plan = inversePlan(compiled, { wanted, start: new PredictedState(compiled).with(changes) });
    return 'obstacle' in plan ? plan.obstacle : undefined;
  }

  #isKnown(effect: Effect): boolean {
    const known = deviceEffect(effect);
    return known !== undefined && this.#ports.devices.get(parseDeviceId(String(effect.device))) !== undefined;
  }

  #reported(one: AffectedDevice): JsonObject {
    const asked = this.#valuesToAsk(one);
    return lastRaw(
      one.compiled,
      one.kept.filter((value) => !asked.includes(value)),
    );
  }

  /** Returns the values that have to be read: those whose changes the device does not report, or all until it has reported the present ones. */
  #valuesToAsk({ compiled, kept }: AffectedDevice): readonly CompiledValue[] {
    const isCurrent = this.#isCurrent({ compiled });
    return kept.filter((value) => value.hasToBeAsked || !isCurrent);
  }

  #isCurrent({ compiled }: Pick<AffectedDevice, 'compiled'>): boolean {
    return this.#ports.access.isCurrent(compiled.device.id);
  }

  #isReachable({ compiled }: AffectedDevice): boolean {
    return this.#ports.directory.get(compiled.device.id)?.reachability !== 'unreachable';
  }

  async #withAsked(reported: DeviceState, asked: readonly AffectedDevice[], signal: AbortSignal): Promise<DeviceState> {
    const timeUp = new AbortController();
    const stop = this.#ports.clock.after(MAX_WAIT_MS, () => timeUp.abort());
    const bounded = AbortSignal.any([signal, timeUp.signal]);
    const reads = asked.map((one) => this.#read(one, this.#isCurrent(one) ? signal : bounded));
    const answers = new Map(await Promise.all(reads));
    stop();
    return withoutEmpty(Object.fromEntries(Object.entries(reported).map(([id, values]) => [id, { ...values, ...answers.get(id) }])));
  }

  /** Returns the values of a device that have to be read, by path; none if it does not answer before the signal aborts. */
  async #read(one: AffectedDevice, signal: AbortSignal): Promise<readonly [string, JsonObject]> {
    const { device } = one.compiled;
    const answer = this.#ports.access.read(pathsOf(device, this.#valuesToAsk(one)), { signal });
    const readings = await orAborted(answer, signal).catch(() => []);
    return [device.id, Object.fromEntries(readings.map(({ path, value }) => [pathOf(path), value]))];
  }
}

/** Returns the raw values as the hub got them last, by path. */
function lastRaw({ live }: CompiledDevice, values: readonly CompiledValue[]): JsonObject {
  return Object.fromEntries(
    values.flatMap((value): [string, Json][] => {
      const raw = live(value.endpoint, value.cluster, value.attribute);
      return raw === undefined ? [] : [[pathOf(value), raw]];
    }),
  );
}

/** Returns the value that the effects set, in human units: that of the last effect that touches it; undefined if it is unforeseen. */
function expectedValue(effects: readonly DeviceEffect[], { name, endpoint }: CompiledValue): Json | undefined {
  const last = effects.findLast(({ effect, endpoint: at }) => {
    const { values = {}, unforeseen = [] } = effect;
    return at === endpoint && (Object.hasOwn(values, name) || unforeseen.includes(name) || unforeseen.includes('*'));
  });
  return last?.effect.values?.[name];
}

function withoutEmpty(state: DeviceState): DeviceState {
  return Object.fromEntries(Object.entries(state).filter(([, values]) => Object.keys(values).length > 0));
}
