/** Hosts are named by few instances; a neighbour that names one by all would make each of its addresses dear. */
const MAX_USERS = 4;

/** Which instances are on which host, as their SRV records say. */
export class HostUsers {
  readonly #users = new Map<string, Set<string>>();

  add(host: string, name: string): void {
    const users = this.#users.get(host.toLowerCase()) ?? new Set();
    if (users.size < MAX_USERS) users.add(name.toLowerCase());
    this.#users.set(host.toLowerCase(), users);
  }

  of(host: string): ReadonlySet<string> {
    return this.#users.get(host.toLowerCase()) ?? new Set();
  }

  forget(host: string, name: string): void {
    const users = this.#users.get(host.toLowerCase());
    users?.delete(name.toLowerCase());
    if (users?.size === 0) this.#users.delete(host.toLowerCase());
  }
}
