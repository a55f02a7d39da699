import type { Json, JsonObject } from '../../core/json.ts';
import { memberOf } from '../convert/name-converters.ts';

/** An attribute of the touched endpoint that a command or write changes. */
export interface AttributeChange {
  /** The touched cluster when absent. */
  readonly cluster?: string;
  readonly attribute: string;
  /** Its new raw value; undefined when that is not known before it happens. */
  readonly raw: Json | undefined;
}

/** A command's fields or a write's value, beside what the device told last. */
export class TouchedCluster {
  readonly #cluster: string;
  readonly #fields: JsonObject;
  readonly #live: (cluster: string, attribute: string) => Json | undefined;
  /** What a write writes. */
  readonly value: Json;

  constructor(
    cluster: string,
    given: { readonly fields?: JsonObject; readonly value?: Json },
    live: (cluster: string, attribute: string) => Json | undefined,
  ) {
    this.#cluster = cluster;
    this.#fields = given.fields ?? {};
    this.value = given.value ?? null;
    this.#live = live;
  }

  /** A field in any spelling; undefined when it is absent or null. */
  field(name: string): Json | undefined {
    return memberOf(this.#fields, name) ?? undefined;
  }

  number(name: string): number | undefined {
    const value = this.field(name);
    return typeof value === 'number' ? value : undefined;
  }

  /** The last raw value of an attribute of this cluster, or of another one of the endpoint. */
  live(attribute: string, cluster = this.#cluster): Json | undefined {
    return this.#live(cluster, attribute) ?? undefined;
  }

  liveNumber(attribute: string, cluster = this.#cluster): number | undefined {
    const value = this.live(attribute, cluster);
    return typeof value === 'number' ? value : undefined;
  }
}

/** What a command or write of a standard cluster changes, raw. */
export type Changes = (touched: TouchedCluster) => readonly AttributeChange[];

/** Changes that are not known before they happen. */
export function unknownChanges(...attributes: readonly string[]): readonly AttributeChange[] {
  return attributes.map((attribute) => ({ attribute, raw: undefined }));
}

/** Where a movement of this cluster ends is judged when it begins; stopping it sets nothing. */
export const NO_CHANGE: Changes = () => [];
