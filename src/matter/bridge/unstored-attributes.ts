import '../matter-platform.ts';
import type { ClusterModel } from '@matter/main/model';
import { RootSupervisor } from '@matter/main/node';

/** Keeps all that matter.js keeps of a cluster on the disk, except some attributes. */
class PartlyStoring extends RootSupervisor {
  readonly #unstored: ReadonlySet<string>;

  constructor(schema: ClusterModel, unstored: ReadonlySet<string>) {
    super(schema);
    this.#unstored = unstored;
  }

  override persistentKeys(...[primaryKey]: Parameters<RootSupervisor['persistentKeys']>): Set<string> {
    return super.persistentKeys(primaryKey).difference(this.#unstored);
  }
}

const supervisors = new WeakMap<object, RootSupervisor>();

/**
 * Returns the supervisor of a cluster whose attributes of these names show the state of a thing. They are not stored, although Matter
 * marks them as non-volatile: the thing itself keeps its state, and the hub shows it after each start. Otherwise, each command and each
 * report of a thing would wait until the disk has synced.
 */
export function supervisorWithout(behavior: { readonly schema: ClusterModel }, attributes: readonly string[]): RootSupervisor {
  const known = supervisors.get(behavior) ?? new PartlyStoring(behavior.schema, new Set(attributes));
  supervisors.set(behavior, known);
  return known;
}
