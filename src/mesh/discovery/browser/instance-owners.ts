const MAX_INSTANCES = 256;
const MAX_INSTANCES_OF_ONE = 64;

/** Bounds how many instances are remembered, in sum and from each neighbour that tells them. */
export class InstanceOwners {
  /** By name in small letters. */
  readonly #owners = new Map<string, { readonly name: string; readonly host: string }>();

  /** False when there is no room for it. */
  admit(name: string, host: string): boolean {
    const key = name.toLowerCase();
    if (this.#owners.has(key)) return true;
    if (this.#owners.size >= MAX_INSTANCES) return false;
    if ([...this.#owners.values()].filter((owner) => owner.host === host).length >= MAX_INSTANCES_OF_ONE) return false;
    this.#owners.set(key, { name, host });
    return true;
  }

  has(name: string): boolean {
    return this.#owners.has(name.toLowerCase());
  }

  /** The name as its owner writes it. */
  spelling(name: string): string {
    return this.#owners.get(name.toLowerCase())?.name ?? name;
  }

  forget(name: string): void {
    this.#owners.delete(name.toLowerCase());
  }

  names(): readonly string[] {
    return [...this.#owners.keys()];
  }
}
