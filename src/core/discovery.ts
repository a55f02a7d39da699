/** A DNS-SD service instance (RFC 6763). */
export interface ServiceInstance {
  /** Instance label, without type and domain. */
  readonly name: string;
  /** Such as `_atmosphere-edge._tcp`. */
  readonly type: string;
  readonly port: number;
  readonly addresses: readonly string[];
  readonly txt: Readonly<Record<string, string>>;
}

/** Port: DNS-SD on the local links. */
export interface Discovery {
  /** Announces until disposed; disposing sends a goodbye. */
  advertise(service: Omit<ServiceInstance, 'addresses'>): Promise<AsyncDisposable>;
  /** Tells instances as they come and go until the signal aborts. */
  browse(type: string, found: (service: ServiceInstance) => void, lost: (name: string) => void, signal: AbortSignal): void;
}
