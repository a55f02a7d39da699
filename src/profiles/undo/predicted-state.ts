import { isDeepStrictEqual } from 'node:util';
import { type Json, present } from '../../core/json.ts';
import type { CompiledValue } from '../compile/cluster-view.ts';
import type { CompiledDevice, DeviceStep } from '../compile/compiled-device.ts';
import { changesOfStep, type ValueChange } from '../compile/step-outcome.ts';
import { pathOf } from './touched-values.ts';

/** What is known of a value after steps: its raw value, its value in human units, or nothing. */
type NewValue = Pick<ValueChange, 'raw' | 'human'>;

/** The state in which a device will be after steps, as far as the model of outcomes tells. It never contacts the device. */
export class PredictedState {
  readonly #device: CompiledDevice;
  readonly #changed: ReadonlyMap<string, NewValue>;

  constructor(device: CompiledDevice, changed: ReadonlyMap<string, NewValue> = new Map()) {
    this.#device = device;
    this.#changed = changed;
  }

  /** Returns the state after the steps, carried out in order. */
  after(steps: readonly DeviceStep[]): PredictedState {
    return steps.reduce<PredictedState>((state, step) => state.with(changesOfStep(step, state.#asDevice())), this);
  }

  with(changes: readonly ValueChange[]): PredictedState {
    const changed = new Map(this.#changed);
    for (const { value, raw, human } of changes) changed.set(pathOf(value), present({ raw, human }));
    return new PredictedState(this.#device, changed);
  }

  /** Returns whether the state differs from the one before the steps, or may differ from it. */
  isChanged(value: CompiledValue): boolean {
    return this.#changed.has(pathOf(value));
  }

  /** Returns the raw value; undefined if it is not known. */
  raw(value: Pick<CompiledValue, 'endpoint' | 'cluster' | 'attribute'>): Json | undefined {
    const known = this.#changed.get(pathOf(value));
    return known ? known.raw : this.#device.live(value.endpoint, value.cluster, value.attribute);
  }

  /** Returns whether a value certainly has this raw value. */
  has(value: CompiledValue, raw: Json): boolean {
    const now = this.raw(value);
    if (now !== undefined) return isSameValue(now, raw);
    const human = this.#changed.get(pathOf(value))?.human;
    return human !== undefined && isSameValue(human, raw === null ? null : value.toHuman(raw));
  }

  /** Returns a text that is equal for equal states. */
  get key(): string {
    return JSON.stringify([...this.#changed].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #asDevice(): Pick<CompiledDevice, 'tools' | 'values' | 'live'> {
    const { tools, values } = this.#device;
    return { tools, values, live: (endpoint, cluster, attribute) => this.raw({ endpoint, cluster, attribute }) };
  }
}

/** Returns whether two values are the same JSON, whatever the order of the members of objects. */
export function isSameValue(a: Json, b: Json): boolean {
  return a === b || isDeepStrictEqual(a, b);
}
