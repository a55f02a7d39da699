import type { AttributeDescription, ClusterDescription, CommandDescription } from '../../core/devices/device-model.ts';
import { snakeCase } from '../../core/devices/matter-names.ts';
import { isJsonObject, type Json, type JsonSchema } from '../../core/json.ts';
import { plain } from '../../core/untrusted-text.ts';
import type { ChoicesEntry, LimitsEntry } from '../files/profile-format.ts';
import { type Choice, propertiesOf } from '../values/converter.ts';
import { memberOf } from '../values/converters.ts';

/** The last reported value of an attribute of a device; undefined before the first report. */
export type LiveValues = (endpoint: number, cluster: string, attribute: string) => Json | undefined;

/** For devices that have reported nothing. */
export const NO_LIVE_VALUES: LiveValues = () => undefined;

/** A field of a command's request. */
interface FieldView {
  readonly name: string;
  readonly schema: JsonSchema;
}

/** One cluster of one endpoint for profiles: names in any case, and live values. */
export class ClusterView {
  readonly endpoint: number;
  readonly description: ClusterDescription;
  readonly #around: { readonly live: LiveValues; readonly neighbours: readonly string[] };

  /** `neighbours` are the names of all clusters of the endpoint. */
  constructor(
    endpoint: number,
    description: ClusterDescription,
    around: { readonly live: LiveValues; readonly neighbours: readonly string[] },
  ) {
    this.endpoint = endpoint;
    this.description = description;
    this.#around = around;
  }

  get name(): string {
    return this.description.name;
  }

  command(name: string): CommandDescription | undefined {
    return byName(this.description.commands, name);
  }

  attribute(name: string): AttributeDescription | undefined {
    return byName(this.description.attributes, name);
  }

  /** True where the endpoint has that cluster too. */
  hasNeighbour(cluster: string): boolean {
    return this.#around.neighbours.includes(cluster);
  }

  hasFeatures(features: readonly string[]): boolean {
    return features.every((feature) => this.description.features.includes(feature));
  }

  /** The attribute's last raw value; undefined also when the device lacks it. */
  live(attribute: string): Json | undefined {
    const found = this.attribute(attribute);
    return found && this.#around.live(this.endpoint, this.description.name, found.name);
  }

  liveNumber(attribute: string): number | undefined {
    const value = this.live(attribute);
    return typeof value === 'number' ? value : undefined;
  }

  /** The last raw value of an attribute of any cluster on the same endpoint. */
  liveOf(cluster: string, attribute: string): Json | undefined {
    return this.#around.live(this.endpoint, cluster, attribute);
  }

  /** The tightest limit that the device states; undefined while it stated none. */
  limit(entry: LimitsEntry, end: 'min' | 'max'): number | undefined {
    const paths = [entry[end] ?? []].flat();
    const at = { cluster: entry.cluster ?? this.name, end };
    const count = end === 'max' && entry.below !== undefined ? this.#limitAt(entry.below, at) : undefined;
    const stated = [...paths.flatMap((path) => this.#limitAt(path, at) ?? []), ...(count === undefined ? [] : [count - 1])];
    if (stated.length === 0) return undefined;
    return end === 'min' ? Math.max(...stated) : Math.min(...stated);
  }

  /** A path may lead over the items of a list: what one of them allows is allowed. */
  #limitAt(path: string, { cluster, end }: { readonly cluster: string; readonly end: 'min' | 'max' }): number | undefined {
    const [attribute = '', ...members] = path.split('.');
    const root = cluster === this.name ? this.live(attribute) : this.liveOf(cluster, attribute);
    const found = members.reduce<readonly Json[]>((at, member) => at.flat().flatMap((one) => memberOf(one, member) ?? []), [root ?? null]);
    const numbers = found.flat().filter((one) => typeof one === 'number');
    if (numbers.length === 0) return undefined;
    return end === 'min' ? Math.min(...numbers) : Math.max(...numbers);
  }

  /** The names that the device lists in one of its attributes, or in one of another cluster. */
  choices(entry: ChoicesEntry): readonly Choice[] {
    const list = entry.cluster === undefined ? this.live(entry.from) : this.liveOf(entry.cluster, entry.from);
    if (!Array.isArray(list)) return [];
    const taken = new Set<string>();
    return list.map((item: Json, index) => {
      const id = entry.id === undefined ? index : (memberOf(item, entry.id) ?? index);
      return { id, name: unique(labelOf(item, entry.label) || `value_${typeof id === 'number' ? id : index}`, taken) };
    });
  }
}

/** A field of an object schema by a path with dots, in any case. */
export function fieldAt(schema: JsonSchema, path: string): FieldView | undefined {
  const [head = '', ...rest] = path.split('.');
  const properties = propertiesOf(schema);
  const name = Object.keys(properties).find((key) => key.toLowerCase() === head.toLowerCase());
  const found = name === undefined ? undefined : properties[name];
  if (name === undefined || found === undefined) return undefined;
  if (rest.length === 0) return { name, schema: found };
  const inner = fieldAt(found, rest.join('.'));
  return inner && { ...inner, name: `${name}.${inner.name}` };
}

function byName<Item extends { readonly name: string }>(items: readonly Item[], name: string): Item | undefined {
  const wanted = name.toLowerCase();
  return items.find((item) => item.name.toLowerCase() === wanted);
}

function labelOf(item: Json, label: string | undefined): string {
  if (label === undefined) return snakeCase(plain(String(item)));
  for (const path of label.split('|')) {
    const value = path.split('.').reduce<Json | undefined>((at, member) => (isJsonObject(at) ? memberOf(at, member) : undefined), item);
    if (typeof value === 'string' && snakeCase(plain(value)) !== '') return snakeCase(plain(value));
  }
  return '';
}

function unique(name: string, taken: Set<string>): string {
  let candidate = name;
  for (let number = 2; taken.has(candidate); number++) candidate = `${name}_${number}`;
  taken.add(candidate);
  return candidate;
}
