import type { AttributeReading } from '../../core/devices/device-model.ts';
import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { CompiledValue } from '../compile/compile-value.ts';

/**
 * Whether a device shows what was asked for. True and false come from a comparison of its state with a target; without one it is
 * null, and the reason says in words why nothing was compared.
 */
export type Settlement = { readonly settled: boolean } | { readonly settled: null; readonly settled_reason: string };

/** Members of an answer that hold a settlement, for schemas. */
export const SETTLEMENT_PROPERTIES = {
  settled: {
    type: ['boolean', 'null'],
    description:
      'True: the device shows the target. False: it does not show it yet. null: nothing could be compared; settled_reason says why',
  },
  settled_reason: { type: 'string', description: 'Why settled is null' },
} as const satisfies Readonly<Record<string, JsonSchema>>;

/** The device acknowledged the command, and its state could not be read afterwards. */
export const UNREAD: Settlement = notCompared('the device acknowledged the action, and its state could not be read afterwards');

const NOTHING_NAMED = notCompared('this action names no state in which the device has to be afterwards');

/** Compares what the device shows with each value of the target; `readings` stand in the order of `values`. */
export function settlementOf(
  target: JsonObject,
  { values, readings }: { readonly values: readonly CompiledValue[]; readonly readings: readonly AttributeReading[] },
): Settlement {
  const wanted = Object.entries(target);
  if (wanted.length === 0) return NOTHING_NAMED;
  const unknown: string[] = [];
  for (const [name, human] of wanted) {
    const index = values.findIndex((value) => value.name === name);
    const raw = readings[index]?.value ?? null;
    const isShown = values[index]?.shows(raw, human);
    if (isShown === true) continue;
    if (isShown === false && raw !== null) return { settled: false };
    unknown.push(name);
  }
  return unknown.length === 0 ? { settled: true } : notCompared(`the device does not say what its ${unknown.join(' and ')} is`);
}

/** The settlement of a whole call that took several actions: that of the action that is farthest from its target. */
export function allSettled(answers: readonly JsonObject[]): Settlement {
  const answer = answers.find(({ settled }) => settled === false) ?? answers.find(({ settled }) => settled === null) ?? answers[0];
  if (typeof answer?.settled === 'boolean') return { settled: answer.settled };
  return answer ? { settled: null, settled_reason: String(answer.settled_reason) } : NOTHING_NAMED;
}

/** Nothing could be compared, for the reason given. */
export function notCompared(why: string): Settlement {
  return { settled: null, settled_reason: `Nothing was compared: ${why}` };
}
