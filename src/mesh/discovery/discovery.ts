/** A DNS-SD service to announce (RFC 6763). */
export interface AnnouncedService {
  /** Instance label, without type and domain; at most 63 bytes of UTF-8. */
  readonly name: string;
  /** Such as `_atmosphere-edge._tcp`. */
  readonly type: string;
  readonly port: number;
  readonly txt: Readonly<Record<string, string>>;
}

/** A service of a neighbour. */
export interface ServiceInstance extends AnnouncedService {
  /** IPv4 and IPv6 addresses in the order in which to try them; link-local ones have a zone, `fe80::1%eth0`. */
  readonly addresses: readonly string[];
}

/** Receives the services of one type. */
export interface ServiceListener {
  /** Called when an instance appears, changes or announces itself again (at most once a second). */
  found(service: ServiceInstance): void;
  /** Called when the records of an instance were withdrawn or have expired on every link. */
  lost(name: string): void;
}

/** Port: DNS-SD on the local links. */
export interface Discovery {
  /** Announces a service until disposed, then sends a goodbye. Throws VALIDATION_ERROR for a name or text that DNS cannot carry. */
  advertise(service: AnnouncedService): AsyncDisposable;
  /** Reports instances to the listener, those of this machine too, until the signal aborts. */
  browse(type: string, listener: ServiceListener, signal: AbortSignal): void;
}
