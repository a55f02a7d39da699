import { AtmoError } from '../core/errors.ts';
import type { CborValue } from './cbor.ts';

/** Where a value stands in its message, innermost first. */
export interface Place {
  readonly within: Place | undefined;
  /** Name of the message, of a member, or an index. */
  readonly step: string | number;
}

/** One kind of value: how it travels, and what it has to be. Both directions refuse what is out of bounds. */
export interface WireType<Value> {
  /** VALIDATION_ERROR names the message and the member. */
  toCbor(value: Value, at: Place): CborValue;
  /** VALIDATION_ERROR names the message and the member. */
  fromCbor(value: CborValue, at: Place): Value;
}

/** The values of a type. */
export type ValueOf<Type> = Type extends WireType<infer Value> ? Value : never;

/** Throws VALIDATION_ERROR, such as `Announcement refused: tools[3].hash is not 8 bytes`; details name message and member. */
export function refuse(at: Place, problem: string): never {
  const [message = '', ...steps] = stepsTo(at);
  const member = steps.reduce<string>((path, step) => `${path}${typeof step === 'number' ? `[${step}]` : `${path && '.'}${step}`}`, '');
  throw new AtmoError('VALIDATION_ERROR', `${message} refused: ${member || 'it'} ${problem}`, { message, member });
}

function stepsTo(at: Place): readonly (string | number)[] {
  const steps: (string | number)[] = [];
  for (let place: Place | undefined = at; place; place = place.within) steps.unshift(place.step);
  return steps;
}
