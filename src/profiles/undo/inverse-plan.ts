import { maxRisk } from '../../core/auth/principal.ts';
import type { Json } from '../../core/json.ts';
import type { CompiledValue } from '../compile/cluster-view.ts';
import type { CompiledDevice, Delegation, DeviceTool } from '../compile/compiled-device.ts';
import { inverseCalls, type WantedValue } from './inverse-calls.ts';
import { isImplied } from './kept-values.ts';
import { PredictedState } from './predicted-state.ts';
import { onePerAttribute, pathOf } from './touched-values.ts';

/** The calls of a device's own tools that bring values back; or the reason why no calls are known that do so. */
export type InversePlan = { readonly calls: readonly Delegation[] } | { readonly obstacle: string };

/** Most calls to one endpoint. A light needs three: its colour, its brightness, and off. */
const MAX_CALLS = 4;
/** Most states that the search looks at, so that a device with many tools costs no time. */
const MAX_STATES = 400;

/** What has to be brought back: the raw value of each path, and the state from which it starts (default: the present one). */
export interface InverseTask {
  readonly wanted: ReadonlyMap<string, Json>;
  readonly start?: PredictedState;
}

/**
 * Finds the fewest calls after which the model of outcomes gives exactly the wanted values, and nothing else changed or might have changed.
 * It tries the device's own tools, so it needs no table of tools and their inverses.
 */
export function inversePlan(compiled: CompiledDevice, { wanted, start = new PredictedState(compiled) }: InverseTask): InversePlan {
  const values = onePerAttribute(compiled.values);
  const endpoints = new Set(values.filter((value) => wanted.has(pathOf(value))).map(({ endpoint }) => endpoint));
  const calls: Delegation[] = [];
  for (const endpoint of endpoints) {
    const part = new EndpointSearch(
      compiled,
      values.filter((value) => value.endpoint === endpoint),
      { wanted, start },
    );
    const found = part.calls();
    if (!found) return { obstacle: `nothing is known that would bring back ${part.lost.join(', ')}` };
    calls.push(...found);
  }
  return { calls };
}

/** A state that the search has reached, and the calls that lead to it. */
interface Reached {
  readonly state: PredictedState;
  readonly calls: readonly Delegation[];
}

/** The search on one endpoint: breadth first, so that the shortest plan is found. */
class EndpointSearch {
  readonly #tools: readonly DeviceTool[];
  readonly #wanted: readonly WantedValue[];
  /** Values that are not known, so that the plan may not touch them. */
  readonly #unknown: readonly CompiledValue[];
  readonly #start: PredictedState;

  constructor(compiled: CompiledDevice, values: readonly CompiledValue[], { wanted, start }: Required<InverseTask>) {
    const [endpoint] = values.map((value) => value.endpoint);
    const tools = compiled.tools.filter((tool) => tool.endpoint === endpoint && tool.kind === 'act');
    this.#tools = tools.toSorted((a, b) => rank(a) - rank(b));
    this.#start = start;
    // A wanted value may be null: a closed valve has no time left.
    const rawOf = (value: CompiledValue) => (wanted.has(pathOf(value)) ? wanted.get(pathOf(value)) : start.raw(value));
    const meant = values.filter((value) => {
      const rawOfCluster = (attribute: string) => {
        const other = values.find((one) => one.cluster === value.cluster && one.attribute === attribute);
        return other && rawOf(other);
      };
      return !isImplied(value, rawOfCluster);
    });
    this.#wanted = meant.flatMap((value) => {
      const raw = rawOf(value);
      return raw === undefined ? [] : [{ value, raw }];
    });
    this.#unknown = meant.filter((value) => rawOf(value) === undefined);
  }

  /** Returns the names of the values that the start does not have. */
  get lost(): readonly string[] {
    return this.#missing(this.#start).map(({ value }) => value.title.toLowerCase());
  }

  calls(): readonly Delegation[] | undefined {
    const seen = new Set<string>();
    let reached: readonly Reached[] = [{ state: this.#start, calls: [] }];
    for (let depth = 0; depth <= MAX_CALLS && reached.length > 0; depth++) {
      const done = reached.find(({ state }) => this.#missing(state).length === 0 && !this.#unknown.some((value) => state.isChanged(value)));
      if (done) return done.calls;
      reached = reached.flatMap((one) => this.#next(one)).filter(({ state }) => isNew(seen, state.key));
      if (seen.size > MAX_STATES) break;
    }
    return undefined;
  }

  #next({ state, calls }: Reached): readonly Reached[] {
    const missing = this.#missing(state);
    return this.#tools.flatMap((tool) =>
      inverseCalls(tool, { state, wanted: this.#wanted, missing }).map((one) => ({ state: one.state, calls: [...calls, one.call] })),
    );
  }

  #missing(state: PredictedState): readonly WantedValue[] {
    return this.#wanted.filter(({ value, raw }) => !state.has(value, raw));
  }
}

function isNew(seen: Set<string>, key: string): boolean {
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}

/** Harmless tools and those of a profile come first; generic tools send raw values, which people cannot read. */
function rank({ risk, capability }: DeviceTool): number {
  const order = ['none', 'low', 'medium', 'dangerous'];
  return order.indexOf(maxRisk(risk)) * 2 + (capability === undefined ? 1 : 0);
}
