import type { ResourceGroup, ResourceGroups } from '../../core/access/permission.ts';
import { areNamesakes, type NamedDevice } from '../../core/devices/action-words.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { areaKey, type DeviceFacts } from '../../core/devices/device-facts.ts';
import type { Device } from '../../core/devices/device-model.ts';
import type { DeviceId } from '../../core/ids.ts';
import { typesAndFamilies } from './device-families.ts';

const NO_TYPES: ReadonlySet<string> = new Set();

/** Which devices a type or an area has now: what `device:control:@type/light` and the owner's rules go by. */
export class DeviceGroups implements ResourceGroups, DeviceFacts {
  readonly #directory: Pick<DeviceDirectory, 'get' | 'list' | 'describe'>;
  readonly #areas: Pick<DeviceFacts, 'areaMeant'>;
  // Asked at every check of a permission. A device's list of types is a new one when it changes.
  readonly #typesOfList = new WeakMap<readonly string[], ReadonlySet<string>>();
  readonly #keyOfArea = new Map<string, string>();

  /** `areas` knows which of them were renamed. */
  constructor(directory: Pick<DeviceDirectory, 'get' | 'list' | 'describe'>, areas: Pick<DeviceFacts, 'areaMeant'>) {
    this.#directory = directory;
    this.#areas = areas;
  }

  /** A resource is a device's id, or `<device>/<reading>`. */
  isMember(resource: string, { by, name }: ResourceGroup): boolean {
    const end = resource.indexOf('/');
    const device = end < 0 ? resource : resource.slice(0, end);
    return by === 'type' ? this.typesOf(device).has(name) : this.areaOf(device) === this.areaMeant(name);
  }

  areaOf(device: string): string | undefined {
    const area = this.#device(device)?.area;
    if (area === undefined) return undefined;
    const known = this.#keyOfArea.get(area) ?? areaKey(area);
    this.#keyOfArea.set(area, known);
    return this.areaMeant(known);
  }

  areaMeant(key: string): string {
    return this.#areas.areaMeant(key);
  }

  namedDevice(device: string): NamedDevice | undefined {
    const found = this.#device(device);
    if (!found) return undefined;
    const { id, name, area } = found;
    const parts = this.#directory.describe(id)?.endpoints.length;
    const sharesName = this.#directory.list().some((other) => areNamesakes(other, found));
    return {
      id,
      name,
      ...(area !== undefined && { area }),
      ...(parts !== undefined && { parts }),
      ...(sharesName && { shares_name: true }),
    };
  }

  typesOf(device: string): ReadonlySet<string> {
    const names = this.#device(device)?.deviceTypes;
    if (!names) return NO_TYPES;
    const known = this.#typesOfList.get(names);
    if (known) return known;
    const types = typesAndFamilies(names);
    this.#typesOfList.set(names, types);
    return types;
  }

  /** Text that is no device's id finds no device. */
  #device(id: string): Device | undefined {
    return this.#directory.get(id as DeviceId);
  }
}
