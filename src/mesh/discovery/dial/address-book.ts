import type { HubId } from '../../../core/ids.ts';
import { formatHostPort, parseHostPort } from '../../engine/host-port.ts';
import type { PeerAddress } from '../../engine/mesh-engine.ts';
import { isLinkLocal } from '../link/network-interface.ts';
import { addressOrder } from './address-order.ts';
import type { RememberedAddresses } from './remembered-addresses.ts';

/** Where a hub says that it can be reached. */
export interface KnownAddresses {
  readonly id: HubId;
  /** `host:port`. */
  readonly addresses: readonly string[];
}

/** What the book looks things up in. */
export interface AddressBookParts {
  readonly self: HubId;
  readonly remembered: RememberedAddresses;
  /** What members announce. */
  readonly announced: () => readonly KnownAddresses[];
  /** `host:port` on which this hub can be reached itself. */
  readonly own: () => ReadonlySet<string>;
  /** Hubs that are not to be connected any more. */
  readonly isBarred: (id: HubId) => boolean;
}

/** All hubs of the mesh that are known, and where they may be. */
export class AddressBook {
  readonly #parts: AddressBookParts;
  readonly #sighted = new Map<HubId, readonly PeerAddress[]>();
  readonly #given = new Map<HubId, PeerAddress>();

  constructor(parts: AddressBookParts) {
    this.#parts = parts;
  }

  /** It was seen on a link just now. */
  sight(id: HubId, addresses: readonly PeerAddress[]): void {
    this.#sighted.set(id, addresses);
  }

  unsight(id: HubId): void {
    this.#sighted.delete(id);
  }

  /** The owner's address turned out to be that of the hub. */
  give(id: HubId, address: PeerAddress): void {
    this.#given.set(id, { ...address, expect: id });
  }

  /** Hubs that were connected or whose announcement was believed: strangers cannot add to these. */
  proven(): ReadonlySet<HubId> {
    const announced = this.#parts.announced().map(({ id }) => id);
    return this.#others([...announced, ...this.#given.keys(), ...this.#parts.remembered.hubs()]);
  }

  /** These, and hubs that were only seen on a link: anybody can claim to be one. */
  all(): ReadonlySet<HubId> {
    return this.#others([...this.proven(), ...this.#sighted.keys()]);
  }

  /** Hubs at addresses that the owner gave. */
  given(): ReadonlySet<HubId> {
    return this.#others(this.#given.keys());
  }

  /** Where to try a hub, the likeliest place first: where it is seen, where it said it is, where it was. */
  addressesOf(id: HubId): readonly PeerAddress[] {
    const announced = this.#parts.announced().find((known) => known.id === id)?.addresses ?? [];
    const given = this.#given.get(id);
    const own = this.#parts.own();
    return addressOrder([
      this.#sighted.get(id) ?? [],
      given === undefined ? [] : [given],
      announced.flatMap((text) => announcedAddress(text, id)),
      this.#parts.remembered.of(id),
    ]).filter((address) => !own.has(formatHostPort(address)));
  }

  #others(ids: Iterable<HubId>): ReadonlySet<HubId> {
    return new Set([...ids].filter((id) => id !== this.#parts.self && !this.#parts.isBarred(id)));
  }
}

// A link-local address that another hub announces means something on its own links only.
function announcedAddress(text: string, expect: HubId): readonly PeerAddress[] {
  const address = parseHostPort(text);
  return address === undefined || isLinkLocal(address.host) ? [] : [{ ...address, expect }];
}
