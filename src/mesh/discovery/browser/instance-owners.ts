const MAX_INSTANCES = 256;
const MAX_INSTANCES_OF_ONE = 64;

/** Bounds how many instances are remembered, in sum and from each neighbour that tells them. */
export class InstanceOwners {
  readonly #owners = new Map<string, string>();

  /** False when there is no room for it. */
  admit(name: string, host: string): boolean {
    const key = name.toLowerCase();
    if (this.#owners.has(key)) return true;
    if (this.#owners.size >= MAX_INSTANCES) return false;
    if ([...this.#owners.values()].filter((owner) => owner === host).length >= MAX_INSTANCES_OF_ONE) return false;
    this.#owners.set(key, host);
    return true;
  }

  has(name: string): boolean {
    return this.#owners.has(name.toLowerCase());
  }

  forget(name: string): void {
    this.#owners.delete(name.toLowerCase());
  }

  names(): readonly string[] {
    return [...this.#owners.keys()];
  }
}
