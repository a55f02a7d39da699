/** DNS-SD service to announce (RFC 6763). */
export interface AnnouncedService {
  /** Instance label without type and domain; at most 63 bytes of UTF-8. */
  readonly name: string;
  /** DNS-SD service type, such as `_atmosphere-edge._tcp`. */
  readonly type: string;
  readonly port: number;
  readonly txt: Readonly<Record<string, string>>;
}

/** DNS-SD service that was found on the local network. */
export interface ServiceInstance extends AnnouncedService {
  /** IPv4 and IPv6 addresses in the order of attempts; link-local addresses have a zone, such as `fe80::1%eth0`. */
  readonly addresses: readonly string[];
}

/** Listener for DNS-SD services of one type. */
export interface ServiceListener {
  /** Called when a service instance appears, changes or announces itself again; at most once a second. */
  found(service: ServiceInstance): void;
  /** Called when the records of a service instance were withdrawn or have expired on every link. */
  lost(name: string): void;
}

/** Announces and finds services on the local network by DNS-SD. Implemented by `DnsSd`. */
export interface Discovery {
  /** Announces a service until disposed, then sends a goodbye. Throws VALIDATION_ERROR if DNS cannot encode the service. */
  advertise(service: AnnouncedService): AsyncDisposable;
  /** Reports service instances, including those of this machine, until the signal aborts. */
  browse(type: string, listener: ServiceListener, signal: AbortSignal): void;
}
